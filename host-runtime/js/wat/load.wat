;; The time that a ticker wrote, for recorders inside of modules that the ticker has not heard of yet.
(module $kperf_load
  (import "js" "clock" (memory 1 1 shared))
  (func (export "now") (result i64) (i64.load (i32.const 0))))
