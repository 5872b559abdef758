;; Waits in the host, at several depths, and may end badly after that.
(module
  (import "host" "wait" (func $wait (param i32)))
  (func $leaf (export "leaf"))
  (func $inner (param i32)
    (call $leaf)
    (call $wait (local.get 0)))
  (func $outer (export "outer") (param i32)
    (call $inner (local.get 0))
    (call $leaf))
  (func $crash (export "crash") (param i32)
    (call $inner (local.get 0))
    (unreachable)))
