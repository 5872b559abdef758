;; --only catches
;; A function without a probe that catches and waits notes its depth as before.
(module
  (tag $e)
  (memory 1 1 shared)
  (func $catches)
  (func $waits (result i32)
    (block $caught
      (try_table (catch $e $caught) (throw $e)))
    (memory.atomic.wait32 (i32.const 0) (i32.const 1) (i64.const -1))))
(; EXPECTED
0 = func[0] catches
(module
  (type (;0;) (func))
  (type (;1;) (func (result i32)))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32)))
  (type (;4;) (func (param i32 i32)))
  (type (;5;) (func (param i32 i32 i64) (result i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 3) (param i32)))
  (import "kperf" "depth" (func $kperf.depth (;2;) (type 1) (result i32)))
  (import "kperf" "close" (func $kperf.close (;3;) (type 4) (param i32 i32)))
  (memory (;0;) 1 1 shared)
  (tag $e (;0;) (type 0))
  (func $catches (;4;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
  (func $waits (;5;) (type 1) (result i32)
    (local i32)
    call $kperf.depth
    i32.const 1
    i32.add
    local.set 0
    block ;; label = @1
      block ;; label = @2
        block ;; label = @3
          try_table (catch $e 0 (;@3;)) ;; label = @4
            throw $e
          end
          br 1 (;@2;)
        end
        i32.const 0
        local.get 0
        i32.const 1
        i32.sub
        call $kperf.close
        br 1 (;@1;)
      end
    end
    i32.const 0
    i32.const 1
    i64.const -1
    call $memory.atomic.wait32
  )
  (func $memory.atomic.wait32 (;6;) (type 5) (param i32 i32 i64) (result i32)
    (local i32)
    i32.const 1073741821
    call $kperf.enter
    local.set 3
    local.get 0
    local.get 1
    local.get 2
    memory.atomic.wait32
    local.get 3
    call $kperf.leave
  )
)

;)
