;; Frames of several stacks would interleave: refused by name.
(module
  (type $f (func))
  (type $c (cont $f))
  (elem declare func $g)
  (func $g)
  (func $h (resume $c (cont.new $c (ref.func $g)))))
(; EXPECTED
error: functions that may be open while their stack is suspended can't have probes (stack switching, at offset 0x28): `h`
;)
