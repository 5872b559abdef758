;; Calls an empty function many times, with probes and without: what differs is what a probe costs.
(module
  (import "kperf" "enter" (func $enter (param i32) (result i32)))
  (import "kperf" "leave" (func $leave (param i32)))

  (func $empty)

  (func $probed_empty (local $token i32)
    (local.set $token (call $enter (i32.const 0)))
    (call $leave (local.get $token)))

  (func (export "plain") (param $calls i32)
    (loop $again
      (call $empty)
      (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1))))))

  (func (export "probed") (param $calls i32)
    (loop $again
      (call $probed_empty)
      (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1)))))))
