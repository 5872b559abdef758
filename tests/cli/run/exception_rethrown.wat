;; RUN: run --clock test -q %
;; RUN: replay exception_rethrown.kperf
(module
  (tag $t)
  (func $throws (throw $t))
  (func $cleanup)
  (func $again
    (block $h (result exnref)
      (try_table (catch_all_ref $h) (call $throws))
      (return))
    (call $cleanup)
    throw_ref)
  (func $outer (call $again))
  (func (export "_start")
    (block $h (try_table (catch_all $h) (call $outer)))
    (call $cleanup)))
