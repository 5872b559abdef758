;; --record profile counts calls and takes samples; under the test clock it takes none, so that all is exact.
;; EXIT: 134 run --clock test --record profile --stack shadow %
;; RUN: report sampled.kperf --sort calls
;; RUN: report sampled.kperf --only '/e/' --format csv
;; RUN: replay sampled.kperf
;; RUN: rewrite % --record profile --span-min off --imports -o probed.wasm
;; EXIT: 134 run --clock test -q probed.wasm
;; RUN: report probed.kperf --call-graph
;; RUN: flame probed.kperf --folded --by calls -o -
;; RUN: diff probed.kperf sampled.kperf
;; FAIL: report sampled.kperf --min-time 1us
;; FAIL: report sampled.kperf --range ~1ms
;; FAIL: report sampled.kperf --percentiles
;; FAIL: run --record profile --probe import %
;; FAIL: run --record profile --clock precise %
;; FAIL: run --record profile --stack shadow --period 1us %
;; FAIL: run --record profile --stack native --period 50us %
;; FAIL: run --record profile --stack shadow --span-min 150us %
;; FAIL: run --record profile --stack shadow --every 1ms %
;; FAIL: run --record trace --span-min 1ms %
;; FAIL: run --record trace --period 1ms %
;; FAIL: run --record trace --stack native %
;; FAIL: rewrite --record profile --span-min 1ms % -o other.wasm
;; RUN: rewrite % --record profile --stack native --imports -o counted.wasm
;; FAIL: run --record profile --stack shadow counted.wasm
;; RUN: info counted.wasm
;; RUN: rewrite % -o traced.wasm
;; FAIL: run --record profile traced.wasm
(module $guest
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (memory (export "memory") 1)
  (func $leaf (param i32) (result i32) (i32.load (local.get 0)))
  (func $deep (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (call $deep (i32.sub (local.get 0) (i32.const 1))))
      (else (call $leaf (i32.const -1)))))
  (func (export "_start")
    (drop (call $leaf (i32.const 0)))
    (drop (call $yield))
    (drop (call $deep (i32.const 2)))))
