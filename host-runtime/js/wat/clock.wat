;; The host's clock in ticks of a nanosecond, as an i64. JavaScript writes milliseconds as an f64 to memory: returning an i64 would
;; make a BigInt for every event, an f64 a number on the heap. While recording is off, the last reading is returned.
(module $kperf_clock
  (import "js" "memory" (memory 1 1))
  (import "js" "read" (func $read))
  ;; Milliseconds to add, so that all threads count from one moment: each has its own `performance`.
  (import "js" "offset" (global $offset f64))
  (func (export "now") (result i64)
    (if (i32.eqz (i32.load (i32.const 8))) (then (call $read)))
    (i64.trunc_sat_f64_u
      (f64.add (f64.mul (f64.add (f64.load (i32.const 0)) (global.get $offset)) (f64.const 1e6)) (f64.const 0.5)))))
