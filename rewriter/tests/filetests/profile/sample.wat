;; --probe sample
;; No function has a probe. The recorder's start function announces the instance.
(module
  (func $callee (param i32) (result i32) local.get 0)
  (func $main (export "main") (result i32) (call $callee (i32.const 1))))
