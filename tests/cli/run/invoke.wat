;; Arguments and results by their types; `_initialize` first.
;; RUN: run --clock test -q % --invoke swap -- -7 1.25
;; RUN: replay invoke.kperf
;; RUN: run --plain % --invoke swap 0x10 nan
;; RUN: run --plain % --invoke all
;; RUN: run --plain % --invoke none
;; RUN: run --plain % --invoke _initialize
;; FAIL: run --plain % --invoke swap 1
;; FAIL: run --plain % --invoke swap 1 2 3
;; FAIL: run --plain % --invoke swap one 2
;; FAIL: run --plain % --invoke swap 18446744073709551616 2
;; FAIL: run --plain % --invoke takes_ref 1
;; FAIL: run --plain % --invoke memory
;; FAIL: run --plain % --invoke swop 1 2
;; FAIL: run --plain %
;; LIST: .
(module
  (memory (export "memory") 1)
  (global $ready (mut i64) (i64.const 0))
  (func (export "_initialize") (global.set $ready (i64.add (global.get $ready) (i64.const 1000))))
  (func (export "swap") (param i64 f64) (result f64 i64)
    (local.get 1) (i64.add (local.get 0) (global.get $ready)))
  (func (export "all") (result i32 i64 f32 f64 v128 funcref externref)
    (i32.const -1) (i64.const 9223372036854775807) (f32.const 0.1) (f64.const -inf)
    (v128.const i64x2 1 2) (ref.null func) (ref.null extern))
  (func (export "none"))
  (func (export "takes_ref") (param externref)))
