;; --probe self
;; The recorder's memory is the program's, and isn't shared.
(module
  (memory 1 1 shared)
  (func $lock (result i32)
    (memory.atomic.wait32 (i32.const 0) (i32.const 1) (i64.const -1))))
(; EXPECTED
error: a module that records itself must have one memory of its own, and this memory is shared between threads
;)
