;; k-perf's files: a trace and its symbols.
;; RUN: run --clock test -q %
;; RUN: export kperf.kperf --format kperf -o out
;; LIST: out
;; CAT: out/trace_kperf_0.txt
;; CAT: out/symbols_kperf_0.txt
;; RUN: export - --format kperf -o leave --leave-ids < kperf.kperf
;; LIST: leave
;; CAT: leave/trace_stdin_0.txt
;; EXIT: 2 export kperf.kperf --format kperf
;; EXIT: 2 export kperf.kperf --format nonsense -o out
;; FAIL: export kperf.kperf --format kperf -o %
(module
  (func $_ZN4life4stepEv (call $leaf) (call $leaf))
  (func $leaf (@name "a \"quoted\" \\ name"))
  (func $main (export "_start") (call $_ZN4life4stepEv) (call $leaf)))
