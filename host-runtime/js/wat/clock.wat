;; The host's clock in ticks of a nanosecond, as an i64. JavaScript writes milliseconds as an f64 to memory: returning an i64 would
;; make a BigInt for every event, an f64 a number on the heap. While recording is off, the last reading is returned.
(module $kperf_clock
  (import "js" "memory" (memory 1 1 shared))
  ;; The address of the reading. Threads may share the memory: a browser has room for some 100.
  (import "js" "at" (global $at i32))
  (import "js" "read" (func $read))
  ;; Milliseconds to add, so that all threads count from one moment: each has its own `performance`.
  (import "js" "offset" (global $offset f64))
  (func (export "now") (result i64)
    (if (i32.eqz (i32.load offset=8 (global.get $at))) (then (call $read)))
    (i64.trunc_sat_f64_u
      (f64.add (f64.mul (f64.add (f64.load (global.get $at)) (global.get $offset)) (f64.const 1e6)) (f64.const 0.5)))))
