;; EXIT: 134 run --clock test -q %
;; RUN: replay trap.kperf
;; RUN: replay trap.kperf --depth 2
(module
  (func $ok)
  (func $bad (call $ok) unreachable)
  (func $middle (call $bad) (call $ok))
  (func $main (export "_start") (call $ok) (call $middle)))
