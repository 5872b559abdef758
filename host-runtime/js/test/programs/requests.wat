;; A request's calls.
(module
  (import "host" "call" (func $call (param i32) (result i32)))
  (memory (export "memory") 1)
  (func $leaf (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
  (func $inner (param i32) (result i32) (call $call (call $leaf (local.get 0))))
  (func (export "outer") (param i32) (result i32) (call $inner (local.get 0)))
  (func (export "fails") (drop (call $leaf (i32.const 0))) unreachable))
