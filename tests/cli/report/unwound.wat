;; Calls that an exception ended, and those that were open at the end, are told.
;; RUN: run --clock test -q %
;; RUN: report unwound.kperf
;; RUN: report unwound.kperf --format csv
;; EXIT: 134 run --clock test -q % --invoke trap
;; RUN: report unwound.kperf
;; RUN: report unwound.kperf --format json
(module
  (tag $t)
  (func $throws (throw $t))
  (func $between (call $throws))
  (func $catches (block $h (try_table (catch_all $h) (call $between))))
  (func (export "_start") (call $catches) (call $catches))
  (func (export "trap") (call $catches) unreachable))
