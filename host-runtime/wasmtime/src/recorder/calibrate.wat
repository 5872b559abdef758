;; Calls a function that does nothing many times, with probes and without: what differs is what a probe costs. (The rewriter
;; puts them into $probed_nothing, see calibrate.rs.) The caller does as much between calls as callers of small functions do:
;; otherwise a processor has nothing to fill the probes' waits with, and they seem a third dearer than they are. The function
;; has a loop that ends at once: one without has a cheaper probe than most functions.
(module
  (func $nothing (param $x i32) (param $y i32) (result i32)
    (loop)
    (local.get $x))

  (func $probed_nothing (param $x i32) (param $y i32) (result i32)
    (loop)
    (local.get $x))

  (func (export "plain") (param $calls i32) (result i32) (local $sum i32)
    (loop $again
      (local.set $sum
        (i32.add
          (local.get $sum)
          (call $nothing
            (i32.sub (i32.rem_u (local.get $calls) (i32.const 23)) (i32.const 1))
            (i32.sub (i32.rem_u (local.get $sum) (i32.const 21)) (i32.const 1)))))
      (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1)))))
    (local.get $sum))

  (func (export "probed") (param $calls i32) (result i32) (local $sum i32)
    (loop $again
      (local.set $sum
        (i32.add
          (local.get $sum)
          (call $probed_nothing
            (i32.sub (i32.rem_u (local.get $calls) (i32.const 23)) (i32.const 1))
            (i32.sub (i32.rem_u (local.get $sum) (i32.const 21)) (i32.const 1)))))
      (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1)))))
    (local.get $sum)))
