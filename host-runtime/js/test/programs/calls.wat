;; Calls out, and can be called back; traps; throws what the host threw through its frames.
(module
  (import "host" "call" (func $host (param i32)))
  (func $inner (export "inner") (param i32)
    (call $host (local.get 0)))
  (func $outer (export "outer") (param i32)
    (call $inner (local.get 0))
    (call $leaf))
  (func $leaf (export "leaf"))
  (func $crash (export "crash")
    (call $leaf)
    (unreachable))
  (func $descend (export "descend") (param i32)
    (if (local.get 0) (then (call $descend (i32.sub (local.get 0) (i32.const 1)))))))
