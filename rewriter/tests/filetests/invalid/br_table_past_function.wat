(module
  (func $f (param i32) (block (br_table 0 1 2 (local.get 0)))))
(; EXPECTED
error: not a well-formed module: a branch to an unknown label (at offset 0x1c)
;)
