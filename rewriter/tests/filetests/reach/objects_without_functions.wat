;; --no-callbacks env
;; No object has a function in it.
(module
  (type $v (func))
  (type $s (struct (field (mut i32))))
  (import "env" "gives" (func $gives (param (ref $s)) (result externref)))
  (func $h (param (ref $v)) (call_ref $v (local.get 0))))
(; EXPECTED
0 = func[1] h
(module
  (type $v (;0;) (func))
  (type $s (;1;) (struct (field (mut i32))))
  (type (;2;) (func (param (ref $s)) (result externref)))
  (type (;3;) (func (param (ref $v))))
  (type (;4;) (func (param i32) (result i32)))
  (type (;5;) (func (param i32)))
  (import "env" "gives" (func $gives (;0;) (type 2) (param (ref $s)) (result externref)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 4) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 5) (param i32)))
  (func $h (;3;) (type 3) (param (ref $v))
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block ;; label = @1
      local.get 0
      call_ref $v
    end
    local.get 1
    call $kperf.leave
  )
)

;)
