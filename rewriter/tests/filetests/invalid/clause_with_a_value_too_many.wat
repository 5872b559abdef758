(module
  ;; The branch on the pad would drop the value.
  (tag $e (param i32))
  (func $f (block $l (try_table (catch $e $l)))))
(; EXPECTED
error: not a well-formed module: a clause gives other values than its label takes (at offset 0x22)
;)
