;; --only step
(module (func $life::step) (func $life::play))
(; EXPECTED
error: no function's name matches `step`; did you mean `*step*`?
;)
