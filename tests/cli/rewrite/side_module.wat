;; A module that is loaded beside others can't have its recorder inside; `run` gives it imported probes.
;; FAIL: rewrite % --probe inline
;; FAIL: rewrite % --record profile
;; RUN: rewrite %
;; RUN: rewrite % --probe import -o out.wasm
;; RUN: run % --clock ticker -q --invoke f
;; FAIL: run % --record profile --invoke f
(module
  (@custom "dylink.0" (before first) "\01\04\00\00\00\00")
  (func (export "f") (result i32) (i32.const 7)))
