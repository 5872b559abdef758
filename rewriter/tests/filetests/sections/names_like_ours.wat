;; Other names than those that probes need are anybody's.
(module
  (import "kperf" "thing" (global i32))
  (import "kperf" "mark" (func $mark (param i32)))
  (func (export "kperf.hello") (call $mark (i32.const 1))))
(; EXPECTED
0 = func[1] kperf.hello
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func))
  (type (;2;) (func (param i32) (result i32)))
  (import "kperf" "thing" (global (;0;) i32))
  (import "kperf" "mark" (func $mark (;0;) (type 0) (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 0) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 0) (param i32)))
  (export "kperf.hello" (func 4))
  (func (;4;) (type 1)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 1
      call $mark
      local.get 0
      call $kperf.unwind
    end
    local.get 0
    call $kperf.leave
  )
)

;)
