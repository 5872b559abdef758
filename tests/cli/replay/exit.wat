;; `proc_exit` leaves frames open; they are closed as what they are.
;; EXIT: 9 run --clock test -q %
;; RUN: replay exit.kperf
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func $quit (call $exit (i32.const 9)))
  (func $main (export "_start") (call $quit)))
