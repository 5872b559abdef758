;; The host's functions stand beside the guest's, called directly.
;; RUN: run --clock test %
;; RUN: replay host_calls.kperf
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
  (memory (export "memory") 1)
  (func $roll (drop (call $random (i32.const 0) (i32.const 8))))
  (func $main (export "_start") (call $roll) (drop (call 1)) (call $roll)))
