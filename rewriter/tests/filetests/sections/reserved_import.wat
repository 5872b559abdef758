(module
  (import "kperf" "enter" (func (param i32) (result i32)))
  (func))
(; EXPECTED
error: the module uses the reserved name `kperf.enter`, which probes need for themselves
;)
