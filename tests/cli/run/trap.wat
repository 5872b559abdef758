;; A trap has wasmtime's exit code, and a backtrace with the source's names; with probes and without.
;; EXIT: 134 run --clock test % --invoke go 7
;; EXIT: 134 run --plain % --invoke go 7
;; RUN: report trap.kperf
;; RUN: replay trap.kperf
(module
  (memory 1)
  (func $_ZN4life4stepEv (param i32) (drop (i32.div_s (i32.const 1) (local.get 0))))
  (func $twice (param i32) (call $_ZN4life4stepEv (i32.const 1)) (call $_ZN4life4stepEv (i32.const 0)))
  (func (param i32) (call $twice (local.get 0)))
  (func (export "go") (param i32) (call 2 (local.get 0))))
