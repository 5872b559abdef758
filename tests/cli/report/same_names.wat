;; Functions of the same name stay apart; names that would spoil a terminal or a table don't.
;; RUN: run --clock test -q %
;; RUN: report same_names.kperf
;; RUN: report same_names.kperf --format csv
;; RUN: replay same_names.kperf
(module
  (func $one (@name "same") (call $a) (call $b))
  (func $two (@name "same"))
  (func $a (@name "with, comma and \"quotes\""))
  (func $b (@name "red\1b[31m\nline"))
  (func (export "_start") (call $one) (call $two)))
