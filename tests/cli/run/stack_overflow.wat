;; A backtrace has an end. How deep it goes is the engine's business.
;; EXIT: 134 run -q --plain %
;; EXIT: 134 run -q --clock test %
;; RUN: report stack_overflow.kperf > report.txt
(module (func $down (call $down) (call $down)) (func (export "_start") (call $down)))
