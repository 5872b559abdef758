;; Random numbers and clocks are the same in every run.
;; RUN: run --plain --deterministic % --invoke random
;; RUN: run --plain --deterministic % --invoke random
;; RUN: run --plain --deterministic % --invoke clock 0
;; RUN: run --plain --deterministic % --invoke clock 1
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "random") (result i64)
    (drop (call $random (i32.const 0) (i32.const 8)))
    (i64.load (i32.const 0)))
  ;; Two readings.
  (func (export "clock") (param $clock i32) (result i64 i64)
    (drop (call $time (local.get $clock) (i64.const 0) (i32.const 0)))
    (drop (call $time (local.get $clock) (i64.const 0) (i32.const 8)))
    (i64.load (i32.const 0))
    (i64.load (i32.const 8))))
