;; Formats that are text, of a program with recursion, a name to be escaped and a trap.
;; EXIT: 134 run --clock test -q %
;; RUN: export text.kperf --format chrome -o -
;; RUN: export text.kperf --format speedscope -o -
;; RUN: export text.kperf --format csv -o -
;; RUN: export text.kperf --format folded -o -
;; RUN: export text.kperf --format firefox -o -
;; RUN: export text.kperf --format kieker -o kieker
;; LIST: kieker
;; CAT: kieker/kieker.map
;; CAT: kieker/kieker-19700101-000000000-UTC-000-Thread-1.dat
;; RUN: export text.kperf --format csv -o - --skip leaf --min-time 3us
;; RUN: export - --format speedscope -o - --depth 1 < text.kperf
;; FAIL: export text.kperf --format csv -o nowhere/x.csv
;; FAIL: export text.kperf --format csv -o - --only nothing
(module
  (func $leaf)
  (func $again (param i32)
    (call $leaf)
    (if (local.get 0) (then (call $again (i32.sub (local.get 0) (i32.const 1))))))
  (func $odd (@name "a \"quoted\"; name, <T>::f()") (call $again (i32.const 1)) unreachable)
  (func $main (export "_start") (call $leaf) (call $odd)))
