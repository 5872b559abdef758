;; A tail call ends the caller first: the stack of calls stays flat, however many there are.
;; RUN: run --clock test -q % --invoke even 100000
;; RUN: report tail_calls.kperf
;; RUN: replay tail_calls.kperf --range ~5us
(module
  (type $f (func (param i64) (result i32)))
  (table funcref (elem $even))
  (func $even (export "even") (type $f)
    (if (i64.eqz (local.get 0)) (then (return (i32.const 1))))
    (return_call $odd (i64.sub (local.get 0) (i64.const 1))))
  (func $odd (type $f)
    (if (i64.eqz (local.get 0)) (then (return (i32.const 0))))
    (return_call_indirect (type $f) (i64.sub (local.get 0) (i64.const 1)) (i32.const 0))))
