;; The time of one lane whose recorder loads it from its own memory: for engines that give a module only one memory, and for
;; recorders inside of modules. Cells make a chain, which the ticker walks at every tick.
;; (A recorder that samples has one page more.)
(module $kperf_cell
  (import "js" "memory" (memory 2 65536 shared))
  (import "next" "put" (func $next (param i64)))
  (func (export "put") (param $ticks i64)
    (local $found i64)
    ;; All ones mean that nothing is to be recorded. The lane's thread may put them there at any moment, and there they stay.
    (local.set $found (i64.load (i32.const 0)))
    (if (i64.ne (local.get $found) (i64.const -1))
      (then (drop (i64.atomic.rmw.cmpxchg (i32.const 0) (local.get $found) (local.get $ticks)))))
    ;; It makes the next event of a recorder inside look.
    (i32.atomic.store (i32.const 8) (i32.const 0))
    (return_call $next (local.get $ticks))))
