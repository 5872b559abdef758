;; The end of a chain of cells. A JavaScript function would get a BigInt at every tick.
(module $kperf_end
  (func (export "put") (param $ticks i64)))
