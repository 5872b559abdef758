;; The host may throw an exception with a function in it.
(module
  (type $v (func))
  (tag (export "e") (param (ref $v)))
  (func $h (param (ref $v)) (call_ref $v (local.get 0))))
(; EXPECTED
0 = func[0] h
(module
  (type $v (;0;) (func))
  (type (;1;) (func (param (ref $v))))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 3) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 3) (param i32)))
  (tag (;0;) (type 1) (param (ref $v)))
  (export "e" (tag 0))
  (func $h (;3;) (type 1) (param (ref $v))
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block ;; label = @1
      local.get 0
      call_ref $v
      local.get 1
      call $kperf.unwind
    end
    local.get 1
    call $kperf.leave
  )
)

;)
