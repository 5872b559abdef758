;; A recorder inside the module records what one beside it does (see trap.wat), whoever put it there.
;; EXIT: 134 run --clock test -q --probe inline %
;; RUN: replay inline.kperf
;; RUN: rewrite % --probe inline --imports -o probed.wasm
;; EXIT: 134 run --clock test -q probed.wasm
;; RUN: replay probed.kperf
;; RUN: info probed.wasm
;; EXIT: 134 run --clock test -q --probe import %
;; RUN: replay inline.kperf
(module $guest
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (memory (export "memory") 1)
  (func $leaf (param i32) (result i32) (i32.load (local.get 0)))
  (func $deep (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (call $deep (i32.sub (local.get 0) (i32.const 1))))
      (else (call $leaf (i32.const -1)))))
  (func (export "_start")
    (drop (call $leaf (i32.const 0)))
    (drop (call $yield))
    (drop (call $deep (i32.const 2)))))
