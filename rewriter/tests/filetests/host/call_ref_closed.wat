(module
  (type $t (func))
  (elem declare func $f)
  (func $f (call_ref $t (ref.func $f))))
(; EXPECTED
0 = func[0] f
(module
  (type $t (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (elem (;0;) declare func $f)
  (func $f (;2;) (type $t)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      ref.func $f
      call_ref $t
    end
    local.get 0
    call $kperf.leave
  )
)

;)
