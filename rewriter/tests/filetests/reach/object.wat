;; An object that the host has given may have a function in it, behind whatever reference.
(module
  (type $v (func))
  (type $s (struct (field (mut (ref null $v)))))
  (import "env" "gives" (func $gives (result externref)))
  (func $h
    (call_ref $v (struct.get $s 0 (ref.cast (ref $s) (any.convert_extern (call $gives)))))))
(; EXPECTED
0 = func[1] h
(module
  (type $v (;0;) (func))
  (type $s (;1;) (struct (field (mut (ref null $v)))))
  (type (;2;) (func (result externref)))
  (type (;3;) (func (param i32) (result i32)))
  (type (;4;) (func (param i32)))
  (import "env" "gives" (func $gives (;0;) (type 2) (result externref)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 3) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 4) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 4) (param i32)))
  (func $h (;4;) (type $v)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      call $gives
      local.get 0
      call $kperf.unwind
      any.convert_extern
      ref.cast (ref $s)
      struct.get $s 0
      call_ref $v
      local.get 0
      call $kperf.unwind
    end
    local.get 0
    call $kperf.leave
  )
)

;)
