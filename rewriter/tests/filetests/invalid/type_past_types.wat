(module
  ;; Type 1 will be that of `kperf.enter`.
  (type (func (param (ref null 1))))
  (func $f (type 0)))
(; EXPECTED
error: not a well-formed module: unknown type 1 (at offset 0xa)
;)
