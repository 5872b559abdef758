;; --probe own-count --whole
;; The counts are in a memory that isn't shared.
(module
  (memory 1)
  (func $f (export "f") (call $g))
  (func $g))
(; EXPECTED
;)
