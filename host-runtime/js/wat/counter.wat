;; Where modules with imported probes count their instructions, if these are the clock, and what tells a recorder beside them the number.
(module $kperf_counter
  (global $instructions (export "instructions") (mut i64) (i64.const 0))
  (func (export "now") (result i64) (global.get $instructions)))
