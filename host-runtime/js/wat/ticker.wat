;; The ticker: renews the time that recorders load, in a thread of its own.
;;
;; bytes 0..8      u64   the time, in ticks of a nanosecond; 0: recorders ask the host
;; bytes 64..68    u32   a request: 0 to go on, anything else to return
;; bytes 68..72    u32   1 while it runs
;; bytes 72..76    u32   the number of stalls; the first 1000 are listed below
;; bytes 80..88    u64   the sum of their lengths, in nanoseconds
;; bytes 88..96    u64   the longest, in nanoseconds
;; bytes 96..104   f64   the last reading of the clock, in milliseconds
;; bytes 104..108  u32   the number of changes of lanes (src/common/clock/ticker.ts)
;;
;; Guests' threads write (src/common/clock/ticker-watch.ts), times in ticks:
;;
;; bytes 112..120  f64   when one last found the time too old, and replaced it by 0
;; bytes 120..128  f64   from when on ticks and stalls count
;; bytes 128..132  u32   the number of lanes whose guest runs
;; bytes 136..144  f64   since when there is one
;; bytes 144..152  f64   for how long there was one before that, in nanoseconds
;; bytes 152..160  f64   the same at the moment of bytes 112..120
;; bytes 160..168  f64   the same at the moment of bytes 120..128
;;
;; The ticker writes:
;;
;; bytes 192..200  f64   the last tick
;; bytes 200..208  f64   the number of ticks after gaps in which a guest ran
;; bytes 208..216  f64   for how long guests ran in these gaps, in nanoseconds
;; bytes 216..224  f64   the sum of the squares of these, without parts for which guests read the clock
;; bytes 224..232  f64   the value of bytes 120..128 that it has taken
;; bytes 232..240  f64   for how long guests had run at the last tick
;; bytes 240..244  u32   1 while it naps
;; bytes 244..248  u32   1 while it sleeps because no guest runs: a thread whose guest begins stores 0 and wakes it
;; bytes 248..256  i64   how long it naps after a preemption, in nanoseconds
;; bytes 256..264  i64   until when it naps; forever with a long period (src/common/clock/ticker.ts)
;; bytes 264..272  i64   when it last noticed that a guest had run, in ticks
;; bytes 272..280  f64   the value of bytes 144..152 by then
;; bytes 1024..    stalls: start u64, length u64
;;
;; Between two steps of a coarse clock (5 us in a page) the time is estimated by the turns of the loop, whose mean length is measured.
;; An estimate never reaches the next step.
;;
;; The system preempts a spinning thread for milliseconds when others want its processor, but runs one that wakes up. So after a preemption
;; the ticker naps between ticks for a while. Then it spins again, and naps for longer if it is soon preempted again.
(module $kperf_ticker
  (import "js" "memory" (memory 1 1 shared))
  ;; Writes a reading to the memory: returning it would make an object each time.
  (import "js" "read" (func $read))
  (import "js" "offset" (global $offset f64))
  ;; The length of a nap, and the longest gap between two naps' ticks that isn't a stall, in nanoseconds.
  (import "js" "nap" (global $nap_nanos i64))
  (import "js" "napLimit" (global $nap_limit i64))
  ;; The chain of cells.
  (import "next" "put" (func $put (param i64)))

  ;; A longer gap shows that processors are scarce.
  (global $late i64 (i64.const 1_000_000))
  ;; The first and the longest time of napping. It doubles after a preemption within $soon.
  (global $min_naps i64 (i64.const 20_000_000))
  (global $max_naps i64 (i64.const 1_000_000_000))
  (global $soon i64 (i64.const 100_000_000))
  ;; So many ticks are few.
  (global $few f64 (f64.const 20))
  ;; It sleeps after this time without a guest, and looks again after a second.
  (global $patience i64 (i64.const 100_000_000))
  (global $longest_sleep i64 (i64.const 1_000_000_000))

  (func $ticks (result i64)
    (call $read)
    (i64.trunc_sat_f64_u
      (f64.add (f64.mul (f64.add (f64.load (i32.const 96)) (global.get $offset)) (f64.const 1e6)) (f64.const 0.5))))

  (global $random (mut i32) (i32.const 0x2545f491))

  ;; Draws from half a turn to one and a half, in parts of 1/256: a loop of the guest that takes about a turn would keep step with equal
  ;; ones, and the same functions would get the ticks again and again. Marsaglia, Xorshift RNGs, 2003.
  (func $draw (result i32)
    (local $random i32)
    (local.set $random (global.get $random))
    (local.set $random (i32.xor (local.get $random) (i32.shl (local.get $random) (i32.const 13))))
    (local.set $random (i32.xor (local.get $random) (i32.shr_u (local.get $random) (i32.const 17))))
    (local.set $random (i32.xor (local.get $random) (i32.shl (local.get $random) (i32.const 5))))
    (global.set $random (local.get $random))
    (i32.add (i32.const 128) (i32.and (local.get $random) (i32.const 255))))

  (func $spin (param $turns i32)
    (loop $again
      (br_if $again (i32.gt_s (local.tee $turns (i32.sub (local.get $turns) (i32.const 1))) (i32.const 0)))))

  ;; For how long guests have run until a moment.
  (func $ran (param $now f64) (result f64)
    (local $nanos f64)
    (local.set $nanos (f64.load (i32.const 144)))
    (if (i32.atomic.load (i32.const 128))
      (then (local.set $nanos (f64.add (local.get $nanos) (f64.max (f64.const 0) (f64.sub (local.get $now) (f64.load (i32.const 136))))))))
    (local.get $nanos))

  ;; Renews the time, and counts for how long guests ran in the gap, and for how long without reading the clock.
  (func $show (param $ticks i64) (param $limit f64)
    (local $now f64) (local $end f64) (local $ran f64) (local $gap f64) (local $coarse f64)
    (local.set $now (f64.convert_i64_s (local.get $ticks)))
    (if (f64.ne (f64.load (i32.const 120)) (f64.load (i32.const 224)))
      (then (call $forget)))
    (local.set $ran (call $ran (local.get $now)))
    (local.set $gap (f64.sub (local.get $ran) (f64.load (i32.const 232))))
    (local.set $coarse (local.get $gap))
    (local.set $end (local.get $now))
    (if (f64.gt (f64.load (i32.const 112)) (f64.load (i32.const 192)))
      (then
        (local.set $end (f64.load (i32.const 112)))
        (local.set $coarse (f64.min (local.get $gap) (f64.max (f64.const 0) (f64.sub (f64.load (i32.const 152)) (f64.load (i32.const 232))))))))
    (f64.store (i32.const 232) (local.get $ran))
    (if (f64.gt (local.get $gap) (f64.const 0))
      (then
        (f64.store (i32.const 200) (f64.add (f64.load (i32.const 200)) (f64.const 1)))
        (f64.store (i32.const 208) (f64.add (f64.load (i32.const 208)) (local.get $gap)))
        (f64.store (i32.const 216) (f64.add (f64.load (i32.const 216)) (f64.mul (local.get $coarse) (local.get $coarse))))
        (if (f64.gt (local.get $coarse) (local.get $limit))
          (then (call $stall (i64.trunc_sat_f64_u (f64.sub (local.get $end) (local.get $coarse))) (i64.trunc_sat_f64_u (local.get $coarse)))))))
    (f64.store (i32.const 192) (local.get $now))
    (if (call $is_new (local.get $now))
      (then (call $ask_host))
      (else (call $put_all (local.get $ticks)))))

  ;; Whether it naps while a guest runs that has seen few ticks or none: such a guest reads the clock itself.
  (func $is_new (param $now f64) (result i32)
    (i32.and
      (i32.and (i32.load (i32.const 240)) (i32.ne (i32.atomic.load (i32.const 128)) (i32.const 0)))
      (f64.lt
        (f64.sub (local.get $now) (f64.load (i32.const 136)))
        (f64.mul (global.get $few) (f64.convert_i64_s (global.get $nap_nanos))))))

  (func $put_all (param $ticks i64)
    (i64.store (i32.const 0) (local.get $ticks))
    (call $put (local.get $ticks)))

  (func $forget
    (memory.fill (i32.const 72) (i32.const 0) (i32.const 24))
    (memory.fill (i32.const 200) (i32.const 0) (i32.const 24))
    (f64.store (i32.const 224) (f64.load (i32.const 120)))
    (f64.store (i32.const 232) (f64.load (i32.const 160))))

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

  ;; Ticks between naps until it may spin again, or is asked to return. Returns the last reading. Node 20 loses locals across the
  ;; wait, so it keeps none.
  (func $nap (result i64)
    (local $now i64)
    (i32.store (i32.const 240) (i32.const 1))
    (block $asked
      (loop $again
        (br_if $asked (i32.atomic.load (i32.const 64)))
        (drop (memory.atomic.wait32 (i32.const 64) (i32.const 0) (global.get $nap_nanos)))
        (local.set $now (call $ticks))
        ;; Woken late: processors are still scarce.
        (if (i64.gt_s (i64.sub (local.get $now) (call $last_tick)) (global.get $late))
          (then (call $nap_until (i64.add (local.get $now) (global.get $min_naps)))))
        (if (i64.gt_s (local.get $now) (call $last_tick))
          (then (call $show (local.get $now) (f64.convert_i64_s (global.get $nap_limit)))))
        (if (call $is_idle (local.get $now)) (then (call $sleep)))
        (local.set $now (call $last_tick))
        (br_if $again (i64.lt_s (local.get $now) (i64.load (i32.const 256))))))
    (i32.store (i32.const 240) (i32.const 0))
    (call $last_tick))

  ;; Whether no guest has run for long.
  (func $is_idle (param $now i64) (result i32)
    ;; A guest may have begun and ended since the last look.
    (if (i32.or
          (i32.atomic.load (i32.const 128))
          (f64.ne (f64.load (i32.const 144)) (f64.load (i32.const 272))))
      (then
        (f64.store (i32.const 272) (f64.load (i32.const 144)))
        (i64.store (i32.const 264) (local.get $now))))
    (i64.gt_s (i64.sub (local.get $now) (i64.load (i32.const 264))) (global.get $patience)))

  ;; Sleeps until a guest begins, or until it is asked to return. Threads write their request before they read the word, so it stores the
  ;; word before it looks once more. A guest that begins must not find the time at which it fell asleep, which its first event may load
  ;; before the next tick.
  (func $sleep
    (call $ask_host)
    (i32.atomic.store (i32.const 244) (i32.const 1))
    (if (i32.eqz (i32.or (i32.atomic.load (i32.const 128)) (i32.atomic.load (i32.const 64))))
      (then (drop (memory.atomic.wait32 (i32.const 244) (i32.const 1) (global.get $longest_sleep)))))
    (i32.atomic.store (i32.const 244) (i32.const 0))
    (call $show (call $ticks) (f64.convert_i64_s (global.get $nap_limit))))

  ;; Recorders ask the host for the time from here on.
  (func $ask_host
    (call $put_all (i64.const 0))
    (f64.store (i32.const 152) (f64.load (i32.const 232)))
    (f64.store (i32.const 112) (f64.add (f64.load (i32.const 192)) (f64.const 1))))

  (func $last_tick (result i64) (i64.trunc_sat_f64_s (f64.load (i32.const 192))))

  (func $nap_until (param $until i64)
    (if (i64.gt_s (local.get $until) (i64.load (i32.const 256)))
      (then (i64.store (i32.const 256) (local.get $until)))))

  ;; Starts to nap after a preemption: for longer than last time, if that was soon.
  (func $put_aside (param $now i64) (param $spun i64)
    (local $naps i64)
    (local.set $naps (i64.load (i32.const 248)))
    (if (i32.and
          (i64.lt_s (local.get $spun) (local.get $naps))
          (i64.lt_s (local.get $spun) (global.get $soon)))
      (then (local.set $naps (i64.shl (local.get $naps) (i64.const 1))))
      (else (local.set $naps (global.get $min_naps))))
    (if (i64.gt_s (local.get $naps) (global.get $max_naps))
      (then (local.set $naps (global.get $max_naps))))
    (i64.store (i32.const 248) (local.get $naps))
    (call $nap_until (i64.add (local.get $now) (local.get $naps))))

  ;; Ticks every `period` nanoseconds until it is asked to return. A gap longer than `limit` is a stall; one longer than `scarce` is a
  ;; preemption. `resolution` is the clock's step.
  (func (export "run") (param $period i64) (param $limit i64) (param $scarce i64) (param $resolution i64)
    (local $step i64) (local $now i64) (local $shown i64) (local $gap i64)
    (local $turns i64) (local $all_turns f64) (local $all_nanos f64)
    (local $spins i32) (local $drawn i32) (local $spun_since i64)
    (local.set $spins (i32.const 64))
    (if (i32.atomic.load (i32.const 64)) (then (return)))
    ;; Recorders have asked the host until now.
    (local.set $shown (call $ticks))
    (if (f64.eq (f64.load (i32.const 192)) (f64.const 0))
      (then
        (i64.store (i32.const 264) (local.get $shown))
        (f64.store (i32.const 232) (call $ran (f64.convert_i64_s (local.get $shown))))))
    (call $show (local.get $shown) (f64.convert_i64_s (local.get $limit)))
    (i32.atomic.store (i32.const 68) (i32.const 1))
    (drop (memory.atomic.notify (i32.const 68) (i32.const -1)))
    (block $asked
      (loop $spin_again
        (if (i64.lt_s (local.get $shown) (i64.load (i32.const 256)))
          (then (local.set $shown (call $nap))))
        (local.set $step (local.get $shown))
        (local.set $spun_since (local.get $shown))
        (local.set $turns (i64.const 0))
        (loop $tick
          (br_if $asked (i32.atomic.load (i32.const 64)))
          (local.set $drawn (call $draw))
          (call $spin (i32.shr_u (i32.mul (local.get $spins) (local.get $drawn)) (i32.const 8)))
          (local.set $turns (i64.add (local.get $turns) (i64.extend_i32_u (local.get $drawn))))
          (local.set $now (call $ticks))
          (local.set $gap (i64.sub (local.get $now) (local.get $step)))
          (if (i64.gt_s (local.get $gap) (i64.const 0))
            (then
              ;; A preemption says nothing about the length of a turn.
              (if (i64.le_s (local.get $gap) (local.get $limit))
                (then
                  (local.set $all_turns (f64.add (local.get $all_turns) (f64.convert_i64_s (local.get $turns))))
                  (local.set $all_nanos (f64.add (local.get $all_nanos) (f64.convert_i64_s (local.get $gap))))
                  ;; A mean turn should take a period: spin a sixteenth more or less.
                  (if (i64.lt_s (i64.shl (local.get $gap) (i64.const 8)) (i64.mul (local.get $turns) (local.get $period)))
                    (then (local.set $spins (i32.add (local.get $spins) (i32.add (i32.shr_u (local.get $spins) (i32.const 4)) (i32.const 1)))))
                    (else (local.set $spins (i32.sub (local.get $spins) (i32.shr_u (local.get $spins) (i32.const 4))))))
                  (if (f64.gt (local.get $all_turns) (f64.const 0x1p20))
                    (then
                      (local.set $all_turns (f64.mul (local.get $all_turns) (f64.const 0.5)))
                      (local.set $all_nanos (f64.mul (local.get $all_nanos) (f64.const 0.5)))))))
              (local.set $step (local.get $now))
              (local.set $turns (i64.const 0)))
            (else
              ;; No step: count the turns since the last one.
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
              (call $show (local.get $shown) (f64.convert_i64_s (local.get $limit)))
              (if (call $is_idle (local.get $now))
                (then
                  (call $sleep)
                  (local.set $shown (call $last_tick))
                  (br $spin_again)))))
          (br_if $tick (i64.le_s (local.get $gap) (local.get $scarce))))
        (call $put_aside (local.get $now) (i64.sub (local.get $now) (i64.add (local.get $spun_since) (local.get $gap))))
        (br $spin_again)))
    (call $show (call $ticks) (f64.convert_i64_s (local.get $limit)))
    (call $ask_host)
    (i32.atomic.store (i32.const 68) (i32.const 0))
    (drop (memory.atomic.notify (i32.const 68) (i32.const -1)))))
