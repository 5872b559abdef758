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
error: probes can't follow a call whose stack is suspended (stack switching, at offset 0x33); leave out what may be called there: --skip 'f' --skip 'caller'
;)
