;; --only step
(module (func $life::step) (func $life::play))
(; EXPECTED
error: the filters leave none of 2 functions; is it `*step*` that you want?
;)
