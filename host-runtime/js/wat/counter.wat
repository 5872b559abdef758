;; The instruction count of modules with imported probes, and the clock that reads it for their recorder.
(module $kperf_counter
  (global $instructions (export "instructions") (mut i64) (i64.const 0))
  (func (export "now") (result i64) (global.get $instructions)))
