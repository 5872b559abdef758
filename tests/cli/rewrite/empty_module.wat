;; A module without functions stays as it is, byte for byte.
;; RUN: rewrite % -o out.wasm
;; RUN: rewrite % --list
;; RUN: info out.wasm
(module)
