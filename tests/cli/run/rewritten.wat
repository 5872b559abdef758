;; A module that has its probes runs with these; there is nothing to choose any more.
;; RUN: rewrite % -o probed.wasm --only inner
;; RUN: run --clock test probed.wasm
;; RUN: replay probed.kperf
;; FAIL: run probed.wasm --only inner
;; FAIL: run --plain probed.wasm
(module
  (func $inner)
  (func (export "_start") (call $inner) (call $inner)))
