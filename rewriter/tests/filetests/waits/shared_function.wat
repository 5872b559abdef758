;; A shared function may call only shared ones.
(module
  (type $t (shared (func (result i32))))
  (memory 1 1 shared)
  (func $shared (type $t)
    (memory.atomic.wait32 (i32.const 0) (i32.const 1) (i64.const -1)))
  (func $f (result i32)
    (memory.atomic.wait32 (i32.const 0) (i32.const 1) (i64.const -1))))
(; EXPECTED
warning: no probe in `shared` (function 0): shared functions may only call shared functions
warning: no probe in `f` (function 1): shared functions may only call shared functions
(module
  (type $t (;0;) (shared (func (result i32))))
  (memory (;0;) 1 1 shared)
  (func $shared (;0;) (type $t)
    i32.const 0
    i32.const 1
    i64.const -1
    memory.atomic.wait32
  )
  (func $f (;1;) (type $t)
    i32.const 0
    i32.const 1
    i64.const -1
    memory.atomic.wait32
  )
)

;)
