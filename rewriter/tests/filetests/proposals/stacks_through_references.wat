;; --skip g --skip h
;; `f` calls through a table, where `h` is, which suspends its stack.
(module
  (type $ft (func))
  (tag $t)
  (table 1 1 funcref)
  (elem (i32.const 0) $h)
  (func $g)
  (func $h (suspend $t))
  (func $f (call_indirect (type $ft) (i32.const 0)))
  (func $caller (call $f))
  (func $other (call $g)))
(; EXPECTED
error: functions that may be open while their stack is suspended can't have probes (stack switching, at offset 0x33): `f`, `caller`
;)
