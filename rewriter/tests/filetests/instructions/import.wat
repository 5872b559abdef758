;; --clock-instructions
;; Imported probes have no such clock.
(module (func))
(; EXPECTED
error: only inlined probes can count instructions (`--probe inline`)
;)
