;; The time in the memory of one lane, for engines without multi-memory and for inlined recorders. Cells are a chain, which the
;; ticker walks at every tick. The memory of a recorder that samples has one more page.
(module $kperf_cell
  (import "js" "memory" (memory 2 65536 shared))
  (import "next" "put" (func $next (param i64)))
  (func (export "put") (param $ticks i64)
    (local $found i64)
    ;; All ones switch recording off. The lane's thread may store them at any moment, and they must stay.
    (local.set $found (i64.load (i32.const 0)))
    (if (i64.ne (local.get $found) (i64.const -1))
      (then (drop (i64.atomic.rmw.cmpxchg (i32.const 0) (local.get $found) (local.get $ticks)))))
    ;; Makes the next event of an inlined recorder load the time.
    (i32.atomic.store (i32.const 8) (i32.const 0))
    (return_call $next (local.get $ticks))))
