;; The time of one lane whose recorder loads it from its own memory: for engines that give a module only one memory.
;; Cells make a chain, which the ticker walks at every tick.
(module $kperf_cell
  (import "js" "memory" (memory 2 2 shared))
  (import "next" "put" (func $next (param i64)))
  (func (export "put") (param $ticks i64)
    (i64.store (i32.const 0) (local.get $ticks))
    (return_call $next (local.get $ticks))))
