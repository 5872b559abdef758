;; What is left of a damaged trace is reported, with a warning; what is no trace is an error.
;; RUN: run --clock test -q %
;; CUT: cut_off.kperf 20
;; RUN: report cut_off.kperf
;; RUN: replay cut_off.kperf
;; RUN: info cut_off.kperf
;; FAIL: report %
;; FAIL: report missing.kperf
;; FAIL: report .
;; FAIL: report - < %
;; FAIL: replay %
;; FAIL: export % --format kperf -o out
(module (func $work) (func (export "_start") (call $work) (call $work)))
