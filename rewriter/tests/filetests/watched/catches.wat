;; --skip catches --skip jumps --skip too_simple --skip ends
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
  (type (;3;) (func (result i32)))
  (type (;4;) (func (param i32 i32)))
  (type (;5;) (func (result i32 (ref exn))))
  (import "env" "host" (func $host (;0;) (type 0) (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 0) (param i32)))
  (import "kperf" "depth" (func $kperf.depth (;3;) (type 3) (result i32)))
  (import "kperf" "close" (func $kperf.close (;4;) (type 4) (param i32 i32)))
  (tag $e (;0;) (type 0) (param i32))
  (func $thrower (;5;) (type 1)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 1
      throw $e
    end
    local.get 0
    call $kperf.leave
  )
  (func $catches (;6;) (type 2) (param i32) (result i32)
    (local i64 i32)
    call $kperf.depth
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
        i32.const 0
        local.get 2
        i32.const 1
        i32.sub
        call $kperf.close
        br 1 (;@1;)
      end
    end
    i32.const 6
    call $host
    i32.const 0
    local.get 2
    i32.const 1
    i32.sub
    call $kperf.close
  )
  (func $jumps (;7;) (type 1)
    (local i32)
    call $kperf.depth
    i32.const 1
    i32.add
    local.set 0
    i32.const 7
    call $host
    i32.const 0
    local.get 0
    i32.const 1
    i32.sub
    call $kperf.close
    return_call $thrower
  )
  (func $ends (;8;) (type 1)
    i32.const 8
    return_call $host
  )
  (func $too_simple (;9;) (type 1)
    call $thrower
  )
)

;)
