;; --no-callbacks env
;; The host may put a function into the global.
(module
  (type $v (func))
  (table 1 1 funcref)
  (global (export "g") (mut funcref) (ref.null func))
  (func $h (table.set 0 (i32.const 0) (global.get 0)) (call_indirect (type $v) (i32.const 0))))
(; EXPECTED
0 = func[0] h
(module
  (type $v (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 2) (param i32)))
  (table (;0;) 1 1 funcref)
  (global (;0;) (mut funcref) ref.null func)
  (export "g" (global 0))
  (func $h (;3;) (type $v)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 0
      global.get 0
      table.set 0
      i32.const 0
      call_indirect (type $v)
      local.get 0
      call $kperf.unwind
    end
    local.get 0
    call $kperf.leave
  )
)

;)
