;; --probe count
(module
  (@custom "dylink.0" (before first) "\01\04\00\00\00\00")
  (func (export "f")))
(; EXPECTED
error: a module that is loaded beside others (it has a section `dylink.0`) can't have its recorder inside: loaders fail at the recorder's exports; imported probes go into it (`--probe import`, a trace)
;)
