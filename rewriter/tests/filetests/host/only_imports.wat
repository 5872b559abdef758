;; --imports --only env.*
;; No function is defined: the sections for thunks are made.
(module
  (import "env" "print" (func $print (param i32)))
  (export "print" (func $print)))
(; EXPECTED
0 = func[0] env.print
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func (param i32) (result i32)))
  (import "env" "print" (func $print (;0;) (type 0) (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 0) (param i32)))
  (export "print" (func $print))
  (func $env.print (;3;) (type 0) (param i32)
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
