;; --probe inline
(module (func (export "kperf.memory")))
(; EXPECTED
error: the module uses the reserved name `kperf.memory`, which probes need for themselves
;)
