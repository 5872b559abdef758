(module
  ;; Label 0 is the function; the block around the body would be label 0, and the function label 1.
  (func $f (br 1)))
(; EXPECTED
error: not a well-formed module: a branch to an unknown label (at offset 0x17)
;)
