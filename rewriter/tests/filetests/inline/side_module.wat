;; --probe inline
;; Loaders of side modules relocate every export that is no function, and fail at the recorder's.
(module
  (@custom "dylink.0" (before first) "\01\04\00\00\00\00")
  (func (export "f")))
(; EXPECTED
error: a module that is linked at run time (it has a section `dylink.0`) can't contain its recorder: its loader rejects the recorder's exports; use imported probes
;)
