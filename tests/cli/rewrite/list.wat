;; Nothing is written, nothing is told on stderr.
;; RUN: rewrite % --list
;; RUN: rewrite % --list --imports --skip '*drop*' --min-instructions 3
;; LIST: .
(module
  (import "env" "log" (func $log (param i32)))
  (import "wasm:js-string" "length" (func $length (param externref) (result i32)))
  (func $_ZN4core3ptr13drop_in_place17h0123456789abcdefE (call $log (i32.const 1)))
  (func $tiny)
  (func $_ZN4life4stepEv (export "step") (call $tiny) (call $tiny) (call $log (i32.const 2)) (call $tiny))
  (func (export "exported") (call $tiny) (call $tiny) (call $tiny))
  (func (call $tiny) (call $tiny) (call $tiny)))
