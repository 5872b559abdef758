;; The filters of `rewrite` hold for `run`, the host's functions included.
;; RUN: run --clock test -q % --only 'a*' --only 'wasi*' --trace a.kperf
;; RUN: replay a.kperf
;; RUN: run --clock test -q % --skip 'wasi*' --skip ab --trace b.kperf
;; RUN: replay b.kperf
;; RUN: run --clock test -q % --exports --trace c.kperf
;; RUN: replay c.kperf
;; RUN: run --clock test -q % --min-instructions 2 --trace d.kperf
;; RUN: replay d.kperf
(module
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (memory (export "memory") 1)
  (func $aa)
  (func $ab (call $aa) (drop (call $yield)))
  (func $b (call $ab))
  (func $main (export "_start") (call $b) (call $aa)))
