;; What runs at the instantiation is recorded: here it is all there is.
;; RUN: run --clock test -q %
;; RUN: replay start_section.kperf
;; RUN: run --clock test -q % --invoke get
;; RUN: replay start_section.kperf
(module
  (global $ready (mut i32) (i32.const 0))
  (func $fill (global.set $ready (i32.const 42)))
  (func $init (call $fill))
  (start $init)
  (func (export "get") (result i32) (global.get $ready)))
