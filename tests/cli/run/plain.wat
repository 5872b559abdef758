;; No probes, no trace, no word of ours.
;; RUN: run --plain %
;; LIST: .
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "hello\n") (data (i32.const 0) "\40\00\00\00\06\00\00\00")
  (func (export "_start") (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))))
