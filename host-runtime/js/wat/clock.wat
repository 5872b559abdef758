;; The host's clock as the recorder wants it: ticks of a nanosecond, in 64 bits. JavaScript gives milliseconds as a
;; double; to answer with an i64 itself it would have to make a BigInt for every event.
(module $kperf_clock
  (import "js" "now" (func $now (result f64)))
  ;; What to add to a reading, so that all threads count from one moment: each has a `performance` of its own.
  (import "js" "offset" (global $offset f64))
  (func (export "now") (result i64)
    (i64.trunc_sat_f64_u
      (f64.add (f64.mul (f64.add (call $now) (global.get $offset)) (f64.const 1e6)) (f64.const 0.5)))))
