;; A function within itself, directly or by way of another, counts once in its total.
;; RUN: run --clock test -q % --invoke even 6
;; RUN: report recursion.kperf
;; RUN: replay recursion.kperf
(module
  (func $even (export "even") (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 1))))
    (call $odd (i32.sub (local.get 0) (i32.const 1))))
  (func $odd (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
    (call $even (i32.sub (local.get 0) (i32.const 1)))))
