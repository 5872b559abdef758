;; --probe self
(module
  (memory 1 2 shared)
  (func))
(; EXPECTED
error: a module that records itself must have one memory of its own, and this memory is shared between threads
;)
