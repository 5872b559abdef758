;; --min-instructions 3
(module
  (func $one (nop))
  (func $two (nop) (nop))
  (func $three (nop) (nop) (nop)))
(; EXPECTED
0 = func[2] three
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (func $one (;2;) (type 0)
    nop
  )
  (func $two (;3;) (type 0)
    nop
    nop
  )
  (func $three (;4;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      nop
      nop
      nop
    end
    local.get 0
    call $kperf.leave
  )
)

;)
