;; What ended a call: a trap, and `proc_exit` with its code, as the trace's last word has it.
;; EXIT: 134 run --clock test -q % --trace trap.kperf
;; RUN: export trap.kperf --format otlp-json -o - --seed 1
;; EXIT: 3 run --clock test -q % --trace exit.kperf -- three
;; RUN: export exit.kperf --format otlp-json -o - --seed 1 --roots run
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func $stop (param $count i32)
    (if (i32.eq (local.get $count) (i32.const 1)) (then unreachable))
    (call $exit (i32.const 3)))
  (func (export "_start")
    (drop (call $sizes (i32.const 0) (i32.const 4)))
    (call $stop (i32.load (i32.const 0)))))
