;; The ticker: runs in a worker and renews the time that recorders load.
;;
;; bytes 0..8      u64   the time, in ticks of a nanosecond
;; bytes 64..68    u32   what is asked of it: 0 to go on, anything else to come back
;; bytes 68..72    u32   1 as long as it runs
;; bytes 72..76    u32   stalls, all of them; those that have a place below are the first 1000
;; bytes 80..88    u64   their lengths together, in nanoseconds
;; bytes 88..96    u64   the longest
;; bytes 96..104   f64   the last reading of the clock, in milliseconds
;; bytes 104..108  u32   how often lanes were told of (src/common/ticker.ts)
;; bytes 1024..    stalls: start u64, length u64
;;
;; Where the clock takes coarse steps (5 us in a page), the time between two steps is guessed: the turns of the loop are
;; counted, and all turns so far say how long one takes. A guess never reaches the next step.
(module $kperf_ticker
  (import "js" "memory" (memory 1 1 shared))
  ;; Leaves a reading in the memory: to answer with it JavaScript would make an object each time, and clear them away.
  (import "js" "read" (func $read))
  (import "js" "offset" (global $offset f64))
  ;; The cells of lanes whose recorder can't load from this memory.
  (import "next" "put" (func $put (param i64)))

  (func $ticks (result i64)
    (call $read)
    (i64.trunc_sat_f64_u
      (f64.add (f64.mul (f64.add (f64.load (i32.const 96)) (global.get $offset)) (f64.const 1e6)) (f64.const 0.5))))

  (func $spin (param $turns i32)
    (loop $again
      (br_if $again (i32.gt_s (local.tee $turns (i32.sub (local.get $turns) (i32.const 1))) (i32.const 0)))))

  (func $stall (param $start i64) (param $length i64)
    (local $count i32) (local $place i32)
    (local.set $count (i32.load (i32.const 72)))
    (if (i32.lt_u (local.get $count) (i32.const 1000))
      (then
        (local.set $place (i32.add (i32.const 1024) (i32.shl (local.get $count) (i32.const 4))))
        (i64.store (local.get $place) (local.get $start))
        (i64.store offset=8 (local.get $place) (local.get $length))))
    (i32.store (i32.const 72) (i32.add (local.get $count) (i32.const 1)))
    (i64.store (i32.const 80) (i64.add (i64.load (i32.const 80)) (local.get $length)))
    (if (i64.gt_u (local.get $length) (i64.load (i32.const 88)))
      (then (i64.store (i32.const 88) (local.get $length)))))

  ;; Ticks every `period` nanoseconds until it is asked to come back. A while of more than `limit` without a tick is a
  ;; stall. `resolution` is the clock's step.
  (func (export "run") (param $period i64) (param $limit i64) (param $resolution i64)
    (local $step i64) (local $now i64) (local $shown i64) (local $gap i64)
    (local $turns i64) (local $all_turns f64) (local $all_nanos f64)
    (local $spins i32)
    (local.set $spins (i32.const 64))
    ;; Somebody has put the time there from which it has stood still until now.
    (local.set $shown (i64.load (i32.const 0)))
    (local.set $step (call $ticks))
    (if (i64.gt_s (i64.sub (local.get $step) (local.get $shown)) (local.get $limit))
      (then (call $stall (local.get $shown) (i64.sub (local.get $step) (local.get $shown)))))
    (local.set $shown (local.get $step))
    (i64.store (i32.const 0) (local.get $shown))
    (call $put (local.get $shown))
    (i32.atomic.store (i32.const 68) (i32.const 1))
    (drop (memory.atomic.notify (i32.const 68) (i32.const -1)))
    (block $asked
      (loop $tick
        (br_if $asked (i32.atomic.load (i32.const 64)))
        (call $spin (local.get $spins))
        (local.set $turns (i64.add (local.get $turns) (i64.const 1)))
        (local.set $now (call $ticks))
        (local.set $gap (i64.sub (local.get $now) (local.get $step)))
        (if (i64.gt_s (local.get $gap) (i64.const 0))
          (then
            (if (i64.gt_s (local.get $gap) (local.get $limit))
              ;; It was put aside for a while: that says nothing of how long a turn takes.
              (then (call $stall (local.get $step) (local.get $gap)))
              (else
                (local.set $all_turns (f64.add (local.get $all_turns) (f64.convert_i64_s (local.get $turns))))
                (local.set $all_nanos (f64.add (local.get $all_nanos) (f64.convert_i64_s (local.get $gap))))
                ;; A turn should take a period: a sixteenth more or less to spin.
                (if (i64.lt_s (local.get $gap) (i64.mul (local.get $turns) (local.get $period)))
                  (then (local.set $spins (i32.add (local.get $spins) (i32.add (i32.shr_u (local.get $spins) (i32.const 4)) (i32.const 1)))))
                  (else (local.set $spins (i32.sub (local.get $spins) (i32.shr_u (local.get $spins) (i32.const 4))))))
                (if (f64.gt (local.get $all_turns) (f64.const 4096))
                  (then
                    (local.set $all_turns (f64.mul (local.get $all_turns) (f64.const 0.5)))
                    (local.set $all_nanos (f64.mul (local.get $all_nanos) (f64.const 0.5)))))))
            (local.set $step (local.get $now))
            (local.set $turns (i64.const 0)))
          (else
            ;; No step: so many turns since the last one.
            (local.set $gap
              (i64.trunc_sat_f64_s
                (f64.div
                  (f64.mul (f64.convert_i64_s (local.get $turns)) (local.get $all_nanos))
                  (f64.add (local.get $all_turns) (f64.const 1e-3)))))
            (if (i64.ge_s (local.get $gap) (local.get $resolution))
              (then (local.set $gap (i64.sub (local.get $resolution) (i64.const 1)))))
            (local.set $now (i64.add (local.get $step) (local.get $gap)))))
        (if (i64.gt_s (local.get $now) (local.get $shown))
          (then
            (local.set $shown (local.get $now))
            (i64.store (i32.const 0) (local.get $shown))
            (call $put (local.get $shown))))
        (br $tick)))
    (i32.atomic.store (i32.const 68) (i32.const 0))
    (drop (memory.atomic.notify (i32.const 68) (i32.const -1)))))
