;; Calls a small function many times, with probes and without: what differs is what a probe costs. Caller and function do
;; as much between calls as small functions do: between calls that do nothing, a processor has nothing to fill the probes'
;; waits with, and they would seem a third dearer than they are.
(module
  (import "kperf" "enter" (func $enter (param i32) (result i32)))
  (import "kperf" "leave" (func $leave (param i32)))

  (func $small (param $x i32) (param $y i32) (result i32)
    (i32.and (i32.lt_u (local.get $x) (i32.const 20)) (i32.lt_u (local.get $y) (i32.const 20))))

  (func $probed_small (param $x i32) (param $y i32) (result i32) (local $token i32) (local $result i32)
    (local.set $token (call $enter (i32.const 0)))
    (local.set $result
      (i32.and (i32.lt_u (local.get $x) (i32.const 20)) (i32.lt_u (local.get $y) (i32.const 20))))
    (call $leave (local.get $token))
    (local.get $result))

  (func (export "plain") (param $calls i32) (result i32) (local $sum i32)
    (loop $again
      (local.set $sum
        (i32.add
          (local.get $sum)
          (call $small
            (i32.sub (i32.rem_u (local.get $calls) (i32.const 23)) (i32.const 1))
            (i32.sub (i32.rem_u (local.get $sum) (i32.const 21)) (i32.const 1)))))
      (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1)))))
    (local.get $sum))

  (func (export "probed") (param $calls i32) (result i32) (local $sum i32)
    (loop $again
      (local.set $sum
        (i32.add
          (local.get $sum)
          (call $probed_small
            (i32.sub (i32.rem_u (local.get $calls) (i32.const 23)) (i32.const 1))
            (i32.sub (i32.rem_u (local.get $sum) (i32.const 21)) (i32.const 1)))))
      (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1)))))
    (local.get $sum)))
