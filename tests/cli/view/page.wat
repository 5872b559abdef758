;; The page is one file. What is in it is tested in a browser: tests/view.
;; RUN: run --clock test -q % --invoke f 3
;; RUN: view page.kperf --no-open
;; RUN: view page.kperf --no-open -o small.html --detail 2
;; FAIL: view nothing.kperf --no-open
;; FAIL: view page.kperf --no-open -o no/such/folder.html
;; FILE: page.wat
(module
  (func $f (export "f") (param i32)
    (if (local.get 0) (then (call $f (i32.sub (local.get 0) (i32.const 1)))))
    (call $g) (call $g))
  (func $g))
