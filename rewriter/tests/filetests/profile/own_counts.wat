;; --probe own-count --whole
;; Each count is a global, behind two that mark them.
(module
  (memory 1)
  (func $f (export "f") (call $g))
  (func $g))
(; EXPECTED
;)
