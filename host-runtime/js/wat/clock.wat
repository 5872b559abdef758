;; The host's clock as the recorder wants it: ticks of a nanosecond, in 64 bits. JavaScript gives milliseconds as a double,
;; and leaves them in a memory: to answer with an i64 it would have to make a BigInt for every event, with an f64 a number
;; on its heap. Where probes call for the time though nothing is recorded, the last reading does.
(module $kperf_clock
  (import "js" "memory" (memory 1 1))
  (import "js" "read" (func $read))
  ;; What to add to a reading, so that all threads count from one moment: each has a `performance` of its own.
  (import "js" "offset" (global $offset f64))
  (func (export "now") (result i64)
    (if (i32.eqz (i32.load (i32.const 8))) (then (call $read)))
    (i64.trunc_sat_f64_u
      (f64.add (f64.mul (f64.add (f64.load (i32.const 0)) (global.get $offset)) (f64.const 1e6)) (f64.const 0.5)))))
