;; --probe self
(module
  (memory 65530)
  (func))
(; EXPECTED
error: a module that records itself must have one memory of its own, and this memory is too large to grow by the recorder's pages
;)
