;; --id-base 1000
(module
  (func $f)
  (func $g))
(; EXPECTED
1000 = func[0] f
1001 = func[1] g
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (func $f (;2;) (type 0)
    (local i32)
    i32.const 1000
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
  (func $g (;3;) (type 0)
    (local i32)
    i32.const 1001
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
)

;)
