;; --clock-instructions
;; A wait executes one instruction.
(module
  (memory 1 1 shared)
  (func $lock (result i32)
    (memory.atomic.wait32 (i32.const 0) (i32.const 1) (i64.const -1))))
(; EXPECTED
0 = func[0] lock
(module
  (type (;0;) (func (result i32)))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (import "kperf" "instructions" (global (;0;) (mut i64)))
  (memory (;0;) 1 1 shared)
  (func $lock (;2;) (type 0) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      global.get 0
      i64.const 4
      i64.add
      global.set 0
      i32.const 0
      i32.const 1
      i64.const -1
      memory.atomic.wait32
    end
    local.get 0
    call $kperf.leave
  )
)

;)
