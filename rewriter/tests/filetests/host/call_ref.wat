;; References come in from outside, so any may be the host's.
(module
  (type $t (func))
  (func $f (export "f") (param (ref $t)) (call_ref $t (local.get 0))))
(; EXPECTED
0 = func[0] f
(module
  (type $t (;0;) (func))
  (type (;1;) (func (param (ref $t))))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 3) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 3) (param i32)))
  (export "f" (func $f))
  (func $f (;3;) (type 1) (param (ref $t))
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block ;; label = @1
      local.get 0
      call_ref $t
      local.get 1
      call $kperf.unwind
    end
    local.get 1
    call $kperf.leave
  )
)

;)
