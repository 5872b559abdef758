;; RUN: rewrite % -o out.wasm --exports
;; RUN: run -q --clock test out.wasm
;; RUN: replay out.kperf
(module
  (func $inner)
  (func $helper (call $inner))
  (func $main (export "_start") (export "main") (call $helper)))
