;; --probe self
(module
  (memory i64 1)
  (func))
(; EXPECTED
error: a module that records itself must have one memory of its own, and this memory has 64-bit addresses
;)
