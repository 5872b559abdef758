(module
  (type $t (func))
  (import "env" "f" (func $import))
  (table 2 2 funcref)
  (elem (i32.const 0) func $import $f)
  (func $f (call_indirect (type $t) (i32.const 0))))
(; EXPECTED
0 = func[1] f
(module
  (type $t (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "env" "f" (func $import (;0;) (type $t)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 2) (param i32)))
  (table (;0;) 2 2 funcref)
  (elem (;0;) (i32.const 0) func $import $f)
  (func $f (;4;) (type $t)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 0
      call_indirect (type $t)
      local.get 0
      call $kperf.unwind
    end
    local.get 0
    call $kperf.leave
  )
)

;)
