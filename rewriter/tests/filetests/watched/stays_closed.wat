;; --skip f --closed --no-callbacks env
;; Nothing is known to come back from here but by a return.
(module
  (type $v (func))
  (import "env" "host" (func $host))
  (table (export "t") 1 funcref)
  (func $f (call $host) (call_indirect (type $v) (i32.const 0)))
  (func $g (call $f) (call $host)))
(; EXPECTED
0 = func[2] g
(module
  (type $v (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "env" "host" (func $host (;0;) (type $v)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 2) (param i32)))
  (table (;0;) 1 funcref)
  (export "t" (table 0))
  (func $f (;3;) (type $v)
    call $host
    i32.const 0
    call_indirect (type $v)
  )
  (func $g (;4;) (type $v)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      call $f
      call $host
    end
    local.get 0
    call $kperf.leave
  )
)

;)
