;; --imports
(module
  ;; Right behind the last function stands the thunk of `print`.
  (import "host" "print" (func $print (param i32)))
  (export "a" (func 1)))
(; EXPECTED
0 = func[0] host.print
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func (param i32) (result i32)))
  (import "host" "print" (func $print (;0;) (type 0) (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 0) (param i32)))
  (export "a" (func 4294967295))
  (func $host.print (;3;) (type 0) (param i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    local.get 0
    call $print
    local.get 1
    call $kperf.leave
  )
)

;)
