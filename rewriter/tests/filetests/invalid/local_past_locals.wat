(module
  ;; The token will be local 1.
  (func $f (param f32) (drop (local.get 1))))
(; EXPECTED
error: not a well-formed module: unknown local (at offset 0x18)
;)
