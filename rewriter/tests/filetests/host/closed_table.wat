;; A table that no host function can get into costs nothing.
(module
  (type $t (func))
  (table 1 1 funcref)
  (elem (i32.const 0) func $f)
  (func $f (call_indirect (type $t) (i32.const 0))))
(; EXPECTED
0 = func[0] f
(module
  (type $t (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (table (;0;) 1 1 funcref)
  (elem (;0;) (i32.const 0) func $f)
  (func $f (;2;) (type $t)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 0
      call_indirect (type $t)
    end
    local.get 0
    call $kperf.leave
  )
)

;)
