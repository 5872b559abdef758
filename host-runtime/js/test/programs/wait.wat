;; Waits in the host.
(module
  (import "host" "wait" (func $wait (param i32) (result i32)))
  (func $leaf (export "leaf"))
  (func $slow (export "slow") (param i32) (result i32)
    (call $leaf)
    (call $once (local.get 0))
    (call $once)
    (call $leaf))
  (func $once (param i32) (result i32)
    (call $wait (local.get 0))))
