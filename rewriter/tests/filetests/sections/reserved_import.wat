(module
  (import "kperf" "enter" (func (param i32) (result i32)))
  (func))
(; EXPECTED
error: the module uses the name `kperf.enter`, which is reserved for probes
;)
