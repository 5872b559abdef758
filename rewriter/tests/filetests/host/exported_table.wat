;; JavaScript may put functions into an exported table.
(module
  (type $t (func))
  (table (export "table") 1 funcref)
  (func $f (call_indirect (type $t) (i32.const 0))))
(; EXPECTED
0 = func[0] f
(module
  (type $t (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 2) (param i32)))
  (table (;0;) 1 funcref)
  (export "table" (table 0))
  (func $f (;3;) (type $t)
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
