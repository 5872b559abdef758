;; --only g
(module
  ;; Type 2 will be that of `kperf.leave`, and $f gets no probe.
  (func $g (param f32))
  (func $f (local (ref null 3)) (drop (ref.null 2))))
(; EXPECTED
error: not a well-formed module: unknown type 3 (at offset 0x1f)
;)
