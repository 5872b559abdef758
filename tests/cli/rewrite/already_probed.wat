;; RUN: rewrite % -o once.wasm
;; FAIL: rewrite once.wasm -o twice.wasm
;; FAIL: rewrite once.wasm --list
;; LIST: .
(module (func $f))
