;; The guest's exit code is ours; 0 too, which leaves frames open all the same.
;; RUN: run --clock test % zero
;; EXIT: 1 run --clock test -q % one arg
;; EXIT: 2 run --clock test -q % one two args
;; EXIT: 2 run --plain % one two args
;; RUN: report exit_codes.kperf
;; EXIT: 125 run -q --clock test % --invoke exit 125
;; EXIT: 1 run -q --clock test % --invoke exit 126
;; EXIT: 1 run -q --plain % --invoke exit 256
;; EXIT: 1 run -q --plain % --invoke exit -- -1
;; RUN: report exit_codes.kperf
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func $leave_with (export "exit") (param i32) (call $exit (local.get 0)))
  (func (export "_start")
    (drop (call $args_sizes (i32.const 0) (i32.const 4)))
    (call $leave_with (i32.sub (i32.load (i32.const 0)) (i32.const 2)))))
