;; The host catches, between functions of the guest that don't.
(module
  (import "env" "catching" (func $catching))
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (tag $e)
  (func $throws (export "throws") (call $catching) (throw $e))
  (func $traps (export "traps") (drop (call $yield)) (unreachable))
  (func $wrap (call $catching))
  (func $work (call $catching))
  (func $run (export "run") (call $wrap) (call $work) (drop (call $yield)) (call $work))
  (func $twice (export "twice") (call $run) (call $run)))
