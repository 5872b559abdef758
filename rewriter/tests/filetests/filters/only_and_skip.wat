;; --only a* --skip ab
(module
  (func $a) (func $ab (call $a)) (func $b (call $ab)))
(; EXPECTED
0 = func[0] a
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (func $a (;2;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
  (func $ab (;3;) (type 0)
    call $a
  )
  (func $b (;4;) (type 0)
    call $ab
  )
)

;)
