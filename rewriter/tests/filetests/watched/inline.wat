;; --probe inline --skip catches --skip jumps --skip too_simple --skip ends
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
  (type (;3;) (func (result i64)))
  (type (;4;) (func (param i32 i32)))
  (type (;5;) (func (param i64) (result i32)))
  (type (;6;) (func (result i32)))
  (type (;7;) (func (param i32) (result i64)))
  (type (;8;) (func (param i64)))
  (type (;9;) (func (param i32 i64)))
  (type (;10;) (func (result i32 (ref exn))))
  (import "env" "host" (func $host (;0;) (type 0) (param i32)))
  (import "kperf:host" "now" (func $kperf:host.now (;1;) (type 3) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;2;) (type 4) (param i32 i32)))
  (memory (;0;) 2 2 shared)
  (tag $e (;0;) (type 0) (param i32))
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 1)
  (global (;3;) i32 i32.const 131048)
  (export "kperf.memory" (memory 0))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $thrower (;3;) (type 1)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 1
        i32.wrap_i64
        i32.const 8
        i32.load
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 1
        i32.wrap_i64
        i32.const 0
        i32.store
        local.get 1
        i64.const 4294967300
        i64.add
        global.set 0
        br 1 (;@1;)
      end
      i64.const -1
      local.set 1
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i64.const 0
        i32.const 0
        call $kperf.enter
        i32.const -1
        i32.eq
        i64.extend_i32_u
        i64.sub
        global.get 0
        i64.const 4294967300
        i64.sub
        i64.or
        local.set 1
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block ;; label = @1
      i32.const 1
      throw $e
    end
    block ;; label = @1
      local.get 1
      i64.const -1
      i64.eq
      br_if 0 (;@1;)
      block ;; label = @2
        i32.const 8
        i32.load
        i32.eqz
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 1
        i32.wrap_i64
        i32.const 0
        i32.const -2147483647
        i32.add
        i32.store
        local.get 1
        i64.const 4
        i64.add
        global.set 0
        br 1 (;@1;)
      end
      local.get 1
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      i32.const 1
      i32.add
      call $kperf.leave
    end
  )
  (func $catches (;4;) (type 2) (param i32) (result i32)
    (local i64 i32)
    global.get 0
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.const 1
    i32.add
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
        i32.const 1
        i32.sub
        global.get 0
        i64.const 32
        i64.shr_u
        i32.wrap_i64
        i32.lt_u
        (@metadata.code.branch_hint "\00")
        if ;; label = @3
          i32.const 0
          local.get 2
          i32.const 1
          i32.sub
          call $kperf.close
        end
        br 1 (;@1;)
      end
    end
    i32.const 6
    call $host
    local.get 2
    i32.const 1
    i32.sub
    global.get 0
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.lt_u
    (@metadata.code.branch_hint "\00")
    if ;; label = @1
      i32.const 0
      local.get 2
      i32.const 1
      i32.sub
      call $kperf.close
    end
  )
  (func $jumps (;5;) (type 1)
    (local i32)
    global.get 0
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.const 1
    i32.add
    local.set 0
    i32.const 7
    call $host
    local.get 0
    i32.const 1
    i32.sub
    global.get 0
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.lt_u
    (@metadata.code.branch_hint "\00")
    if ;; label = @1
      i32.const 0
      local.get 0
      i32.const 1
      i32.sub
      call $kperf.close
    end
    return_call $thrower
  )
  (func $ends (;6;) (type 1)
    i32.const 8
    return_call $host
  )
  (func $too_simple (;7;) (type 1)
    call $thrower
  )
)

;)
