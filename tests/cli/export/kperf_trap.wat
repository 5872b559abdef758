;; Calls that a trap cut short are closed too: k-perf's script wants every call closed.
;; EXIT: 134 run --clock test -q %
;; RUN: export kperf_trap.kperf --format kperf -o .
;; CAT: trace_kperf_trap_0.txt
(module
  (func $bad unreachable)
  (func $main (export "_start") (call $bad)))
