;; What the probes of `probes.mm` call.
(module
  (func (export "enter") (param $fid i32))
  (func (export "leave") (param $fid i32)))
