;; --probe inline
(module (func (export "kperf.memory")))
(; EXPECTED
error: the module uses the name `kperf.memory`, which is reserved for probes
;)
