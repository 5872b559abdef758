;; --closed
;; The import is in the table, whatever else isn't.
(module
  (type $v (func))
  (import "env" "host" (func $host))
  (table (export "t") 1 funcref)
  (elem (i32.const 0) $host)
  (func $g (call_indirect (type $v) (i32.const 0))))
(; EXPECTED
0 = func[1] g
(module
  (type $v (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "env" "host" (func $host (;0;) (type $v)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 2) (param i32)))
  (table (;0;) 1 funcref)
  (export "t" (table 0))
  (elem (;0;) (i32.const 0) func $host)
  (func $g (;4;) (type $v)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
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
