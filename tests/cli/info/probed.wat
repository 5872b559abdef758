;; RUN: rewrite % -o probed.wasm --skip unseen --id-base 10 --imports
;; RUN: info probed.wasm
;; RUN: info probed.wasm --format json
(module
  (import "env" "log" (func $log))
  (func $seen (call $log)) (func $unseen))
