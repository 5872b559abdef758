;; Recursive groups stay as they are, dummy members and all; our types go behind them.
(module
  (rec (type $f (func)) (type (struct)))
  (rec (type $g (sub (func (param i32)))) (type $h (sub final $g (func (param i32)))))
  (func (type $f))
  (func (type $h) (call 0)))
(; EXPECTED
0 = func[0] func[0]
1 = func[1] func[1]
(module
  (rec
    (type $f (;0;) (func))
    (type (;1;) (struct))
  )
  (rec
    (type $g (;2;) (sub (func (param i32))))
    (type $h (;3;) (sub final $g (func (param i32))))
  )
  (type (;4;) (func (param i32) (result i32)))
  (type (;5;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 4) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 5) (param i32)))
  (func (;2;) (type $f)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
  (func (;3;) (type $h) (param i32)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 1
    block ;; label = @1
      call 2
    end
    local.get 1
    call $kperf.leave
  )
)

;)
