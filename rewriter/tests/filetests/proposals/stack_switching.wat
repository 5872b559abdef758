;; Frames of several stacks would interleave: refused by name.
(module
  (type $f (func))
  (type $c (cont $f))
  (elem declare func $g)
  (func $g)
  (func $h (resume $c (cont.new $c (ref.func $g)))))
(; EXPECTED
error: probes can't follow a call whose stack is suspended (stack switching, at offset 0x28); leave out what may be called there: --skip 'h'
;)
