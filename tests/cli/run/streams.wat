;; The guest's stdin, stdout and stderr are ours; the profile stands behind its stderr.
;; RUN: run --clock test % < %
;; LIST: .
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\1c\00\00\00") ;; 28 bytes at 64
  (func $echo (param $to i32)
    (drop (call $write (local.get $to) (i32.const 0) (i32.const 1) (i32.const 32)))
    (i32.store8 (i32.const 91) (i32.const 10))
    (drop (call $write (local.get $to) (i32.const 0) (i32.const 1) (i32.const 32))))
  (func (export "_start")
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))
    (call $echo (i32.const 1))
    (call $echo (i32.const 2))))
