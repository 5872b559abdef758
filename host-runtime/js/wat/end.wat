;; The end of a chain of cells. (A function of JavaScript would be given a BigInt at every tick.)
(module $kperf_end
  (func (export "put") (param $ticks i64)))
