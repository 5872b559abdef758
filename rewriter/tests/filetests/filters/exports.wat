;; --exports
(module
  (func $hidden)
  (func $shown (export "shown") (call $hidden)))
(; EXPECTED
0 = func[1] shown
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (export "shown" (func $shown))
  (func $hidden (;2;) (type 0))
  (func $shown (;3;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      call $hidden
    end
    local.get 0
    call $kperf.leave
  )
)

;)
