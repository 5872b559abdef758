;; Stands before the recorder's `enter`: the first one of a turn of the event loop is told to JavaScript, which queues a
;; microtask. When that runs, no function of the guest can be on the stack: what is open then was left by an exception.
(module $kperf_arm
  (import "recorder" "enter" (func $enter (param i32) (result i32)))
  (import "js" "arm" (func $arm))
  (global $armed (export "armed") (mut i32) (i32.const 0))
  (func (export "enter") (param $func_id i32) (result i32)
    (if (i32.eqz (global.get $armed)) (then (global.set $armed (i32.const 1)) (call $arm)))
    (return_call $enter (local.get $func_id))))
