;; RUN: info %
;; RUN: info % --format json
;; RUN: info - < %
(module
  (type (func (param i32)))
  (import "env" "log" (func $log (type 0)))
  (import "env" "memory" (memory 1))
  (table 1 funcref)
  (global i32 (i32.const 1))
  (tag $t)
  (func $_ZN4life4stepEv (export "step") (call $log (i32.const 1)))
  (func $init)
  (func (result i64 i64) (i64.const 1) (i64.const 2))
  (start $init)
  (elem (i32.const 0) func $init)
  (data (i32.const 0) "x")
  (@custom "mine" "abc"))
