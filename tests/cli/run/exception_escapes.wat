;; Nobody catches it: a failure, with names, and the open calls closed for the host's reason.
;; EXIT: 1 run --clock test %
;; EXIT: 1 run --plain %
;; RUN: replay exception_escapes.kperf
(module
  (tag $t (param i32))
  (func $throws (throw $t (i32.const 7)))
  (func $between (call $throws))
  (func (export "_start") (call $between)))
