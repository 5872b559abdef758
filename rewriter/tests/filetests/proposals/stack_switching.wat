;; Frames of several stacks would interleave: refused by name.
(module
  (type $f (func))
  (type $c (cont $f))
  (elem declare func $g)
  (func $g)
  (func $h (resume $c (cont.new $c (ref.func $g)))))
(; EXPECTED
error: stack switching (cont.new, suspend, resume) is not supported (at offset 0x26)
;)
