;; --probe profile --skip catches --skip jumps --skip too_simple --skip ends
;; Functions without a probe, in which something may be caught, note how deep they are and close what is deeper there.
(module
  (import "env" "host" (func $host (param i32)))
  (tag $e (param i32))
  (func $thrower (throw $e (i32.const 1)))
  (func $catches (param i32) (result i32) (local i64)
    (block $l (result i32)
      (try_table (result i32) (catch $e $l)
        (call $thrower)
        (br_if 2 (i32.const 3) (i32.const 4))
        (drop)
        (return (i32.const 5))))
    (call $host (i32.const 6)))
  (func $jumps (call $host (i32.const 7)) (return_call $thrower))
  (func $ends (return_call $host (i32.const 8)))
  (func $too_simple (call $thrower)))
(; EXPECTED
0 = func[1] thrower
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32 i32)))
  (type (;4;) (func (param i32 i32) (result i32)))
  (type (;5;) (func (result i32 (ref exn))))
  (import "env" "host" (func $host (;0;) (type 0) (param i32)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 3) (param i32 i32)))
  (memory (;0;) 17 17 shared)
  (tag $e (;0;) (type 0) (param i32))
  (global (;0;) (mut i32) i32.const 64)
  (global (;1;) i32 i32.const 0)
  (global (;2;) i32 i32.const 1)
  (export "kperf.memory" (memory 0))
  (export "kperf.state.top" (global 0))
  (export "kperf.state.id_base" (global 1))
  (export "kperf.state.functions" (global 2))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $thrower (;2;) (type 1)
    (local i32)
    global.get 0
    local.tee 0
    i32.const 0
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.store
    i32.const 1048576
    i32.const 1048576
    i64.load
    i64.const 1
    i64.add
    i64.store
    block ;; label = @1
      i32.const 1
      throw $e
    end
    local.get 0
    i64.const 0
    i64.store
  )
  (func $catches (;3;) (type 2) (param i32) (result i32)
    (local i64 i32)
    global.get 0
    local.set 2
    block (result i32) ;; label = @1
      block (result i32) ;; label = @2
        block (result i32) ;; label = @3
          try_table (result i32) (catch $e 0 (;@3;)) ;; label = @4
            call $thrower
            i32.const 3
            i32.const 4
            br_if 4
            drop
            i32.const 5
            return
          end
          br 1 (;@2;)
        end
        local.get 2
        i32.load
        if ;; label = @3
          local.get 2
          i32.const 8
          i32.sub
          call $kperf.unwind
        end
        br 1 (;@1;)
      end
    end
    i32.const 6
    call $host
    local.get 2
    i32.load
    if ;; label = @1
      local.get 2
      i32.const 8
      i32.sub
      call $kperf.unwind
    end
  )
  (func $jumps (;4;) (type 1)
    (local i32)
    global.get 0
    local.set 0
    i32.const 7
    call $host
    local.get 0
    i32.load
    if ;; label = @1
      local.get 0
      i32.const 8
      i32.sub
      call $kperf.unwind
    end
    return_call $thrower
  )
  (func $ends (;5;) (type 1)
    i32.const 8
    return_call $host
  )
  (func $too_simple (;6;) (type 1)
    call $thrower
  )
)

;)
