;; --probe self
(module
  (import "env" "memory" (memory 1))
  (func))
(; EXPECTED
error: a module that records itself must have one memory of its own, and this memory is imported
;)
