;; Calls of the host get probes by `--imports` only.
;; RUN: rewrite % -o without.wasm
;; RUN: rewrite % -o with.wasm --imports
;; RUN: run -q --clock test without.wasm
;; RUN: run -q --clock test with.wasm
;; RUN: replay without.kperf
;; RUN: replay with.kperf
;; RUN: info with.wasm
(module
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (memory (export "memory") 1)
  (func $main (export "_start") (drop (call $yield)) (drop (call $yield))))
