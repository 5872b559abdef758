(module
  ;; Type 1 will be that of `kperf.enter`.
  (func $f (i32.const 1) (block (type 1)) drop))
(; EXPECTED
error: not a well-formed module: unknown type 1 (at offset 0x19)
;)
