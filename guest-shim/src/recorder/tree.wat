;; The recorder of `--probe self`. The rewriter puts it into a module, which then keeps its own call tree and writes it, in any engine.
;;
;; It needs nothing of the host but the functions of WASI that the program has anyway. It is in the program's own memory, after the
;; program's last page: $base is its first address, and moves when the program grows its memory. Two modules are made from this file.
;; They differ between `;; #if FORM..`, `;; #else` and `;; #end`:
;;
;;   files   It reads the clock of WASI and writes a file through it.
;;   bare    For programs without WASI: instructions are its clock, and the host fetches the recording (`kperf.take`).
;;
;; From $base on (src/tree.rs has the same numbers):
;;
;;      0   scratch; from 64 on offset and length of each text and hole, from 208 on the table of CRC-32
;;   1024   nodes of 32 bytes, the root first, then [other]: 0 function, 4 parent, 8 the child that was called last,
;;          12 its number in the window that is being written, 16 time (i64, in 2^-12 ticks), 24 calls (i64)
;; 525312   a hash table of nodes, by their parent and function
;; 656384   the file: what is the same in each (header, symbols), then the window that is being written
;;
;; A call's token is its node, so a leave or unwind closes whatever an exception left open. Of a token bit 0 says that there was no room
;; for a node (the token is the caller's node then, and the call counts for [other]), bit 1 that the host made the call.
;;
;; Events advance the time of the open node by instructions, at the speed of the time between the last two readings of the clock. The clock
;; is read each 2^17 instructions (earlier at the beginning), around calls of the host, and at the ends of calls that the host made. What
;; a reading finds beside the estimate counts for the open node. So all times together are what passed.
(module $kperf_tree
  ;; #if files
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $fd_prestat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  ;; #end
  ;; The program's.
  (memory $own (export "memory") 1)

  ;; The rewriter sets these two: where the recorder's pages begin, and how many they are.
  (global $base (export "inside.base") (mut i32) (i32.const 0))
  (global $pages (export "inside.pages") i32 (i32.const 0))
  ;; The rewritten module increases it.
  (global $instructions (export "state.instructions") (mut i64) (i64.const 0))

  ;; The open node, and the first free one.
  (global $cur (mut i32) (i32.const 1024))
  (global $free (mut i32) (i32.const 1088))
  ;; Instructions up to which time is accounted for, and at which the clock is read next.
  (global $last (mut i64) (i64.const 0))
  (global $next (mut i64) (i64.const -1))
  ;; The speed: ticks for an instruction, times 2^12.
  (global $rate (mut i64) (i64.const 4096))
  ;; Where the next window begins, in ticks.
  (global $starts (mut i64) (i64.const 0))
  ;; The address of the next byte that is written.
  (global $out (mut i32) (i32.const 0))
  ;; #if files
  ;; Whether the module's start function runs: hosts can't answer before the instance is complete.
  (global $held (mut i32) (i32.const 0))
  ;; Whether the clock was read, and ever moved.
  (global $began (mut i32) (i32.const 0))
  (global $moved (mut i32) (i32.const 0))
  ;; The first reading, in nanoseconds, and the calendar's then. Other times count from there.
  (global $first (mut i64) (i64.const 0))
  (global $unix (mut i64) (i64.const 0))
  (global $seen (mut i64) (i64.const 0))
  (global $readings (mut i64) (i64.const 0))
  (global $cost (mut i64) (i64.const 0))
  ;; The time in the host so far, and what else is accounted for: up to which time, and how many instructions.
  (global $host (mut i64) (i64.const 0))
  (global $known (mut i64) (i64.const 0))
  (global $known_instructions (mut i64) (i64.const 0))
  (global $step (mut i64) (i64.const 1024))
  ;; When the file was written, and how long it is until that is due again.
  (global $saved (mut i64) (i64.const 0))
  (global $every (mut i64) (i64.const 100000000))
  ;; The descriptor of the folder with the file: -1 is none yet, -2 none takes it. Whether the file's header is written.
  (global $folder (mut i32) (i32.const -1))
  (global $written (mut i32) (i32.const 0))
  (global $done (mut i32) (i32.const 0))
  ;; #end

  ;; Adds to the open node's time.
  (func $add (param $time i64) (local $node i32)
    (local.set $node (i32.add (global.get $base) (global.get $cur)))
    (i64.store offset=16 (local.get $node) (i64.add (i64.load offset=16 (local.get $node)) (local.get $time))))

  ;; Accounts for the instructions since the last event.
  (func $charge
    (call $add (i64.mul (i64.sub (global.get $instructions) (global.get $last)) (global.get $rate)))
    (global.set $last (global.get $instructions)))

  ;; #if files
  (func $clock (param $id i32) (result i64)
    (if (call $clock_time_get (local.get $id) (i64.const 1) (i32.add (global.get $base) (i32.const 32)))
      (then (return (i64.const 0))))
    (i64.load offset=32 (global.get $base)))

  ;; Nanoseconds since the first reading. It never goes back.
  (func $time (result i64) (local $t i64)
    (global.set $readings (i64.add (global.get $readings) (i64.const 1)))
    (local.set $t (i64.sub (call $clock (i32.const 1)) (global.get $first)))
    (if (i64.gt_s (local.get $t) (global.get $seen))
      (then
        (global.set $moved (i32.const 1))
        (global.set $seen (local.get $t))))
    (global.get $seen))

  (func $begin (local $n i32)
    (if (global.get $held) (then (return)))
    (global.set $began (i32.const 1))
    (global.set $unix (call $clock (i32.const 0)))
    (local.set $n (i32.const 8))
    (global.set $cost (call $clock (i32.const 1)))
    (loop $more
      (global.set $first (call $clock (i32.const 1)))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (global.set $cost (i64.shr_s (i64.sub (global.get $first) (global.get $cost)) (i64.const 3)))
    (global.set $known_instructions (global.get $instructions))
    (global.set $next (i64.add (global.get $instructions) (global.get $step))))

  ;; A reading: what passed beside the estimate counts for the open node.
  (func $account (param $t i64) (local $passed i64) (local $count i64) (local $rate i64)
    (local.set $passed (i64.sub (i64.sub (local.get $t) (global.get $host)) (global.get $known)))
    ;; A coarse clock stands still for several readings, and another one for ever.
    (if (i64.le_s (local.get $passed) (i64.const 0)) (then (return)))
    (local.set $count (i64.sub (global.get $instructions) (global.get $known_instructions)))
    (global.set $known (i64.add (global.get $known) (local.get $passed)))
    (global.set $known_instructions (global.get $instructions))
    (local.set $passed (i64.shl (local.get $passed) (i64.const 12)))
    (call $add (i64.sub (local.get $passed) (i64.mul (local.get $count) (global.get $rate))))
    (if (i64.ge_u (local.get $count) (i64.const 1024))
      (then
        ;; At most twice as slow as before: the thread may only have lost its processor.
        (local.set $rate (i64.div_u (local.get $passed) (local.get $count)))
        (local.set $count (i64.add (i64.shl (global.get $rate) (i64.const 1)) (i64.const 1)))
        (global.set $rate
          (select (local.get $rate) (local.get $count) (i64.lt_u (local.get $rate) (local.get $count)))))))

  (func $reading (local $t i64)
    (call $account (local.tee $t (call $time)))
    (global.set $next (i64.add (global.get $instructions) (global.get $step)))
    (if (i64.lt_u (global.get $step) (i64.const 131072))
      (then (global.set $step (i64.shl (global.get $step) (i64.const 1)))))
    (if (i64.ge_s (i64.sub (local.get $t) (global.get $saved)) (global.get $every))
      (then
        (if (i64.lt_s (global.get $every) (i64.const 60000000000))
          (then (global.set $every (i64.shl (global.get $every) (i64.const 1)))))
        (call $save (i32.const -1) (i32.const 0))
        ;; The time of writing is no function's.
        (global.set $saved (call $time))
        (global.set $host (i64.add (global.get $host) (i64.sub (global.get $saved) (local.get $t)))))))

  ;; Before a call of the host.
  (func $before (export "inside.before")
    (call $charge)
    (if (global.get $began) (then (call $account (call $time)))))

  ;; #end

  ;; After it: the host may have grown the memory, and its time counts for the open node. So does the time between two calls that the host
  ;; makes, for the root.
  ;; #if files
  (func $after (export "inside.after") (local $passed i64)
  ;; #else
  (func $after (export "inside.after")
  ;; #end
    (call $settle)
    (call $charge)
    ;; #if files
    (if (i32.eqz (global.get $began)) (then (return)))
    (local.set $passed
      (i64.sub
        (i64.sub (i64.sub (call $time) (global.get $host)) (global.get $known))
        (i64.shr_u
          (i64.mul (i64.sub (global.get $instructions) (global.get $known_instructions)) (global.get $rate))
          (i64.const 12))))
    (if (i64.gt_s (local.get $passed) (i64.const 0))
      (then
        (global.set $host (i64.add (global.get $host) (local.get $passed)))
        (call $add (i64.shl (local.get $passed) (i64.const 12)))))
    ;; #end
  )

  ;; A call of a function: its token.
  (func $enter (export "enter") (param $id i32) (result i32) (local $slot i32) (local $node i32) (local $at i32) (local $bits i32)
    (call $charge)
    (local.set $bits (i32.shl (i32.eq (global.get $cur) (i32.const 1024)) (i32.const 1)))
    (if (local.get $bits) (then (call $after)))
    ;; #if files
    (if (i32.eqz (global.get $began)) (then (call $begin)))
    (if (i64.ge_u (global.get $instructions) (global.get $next)) (then (call $reading)))
    ;; #end
    (local.set $slot
      (i32.xor
        (i32.mul (global.get $cur) (i32.const 0x9e3779b1))
        (i32.mul (local.get $id) (i32.const 0x85ebca6b))))
    (local.set $slot
      (i32.shl
        (i32.and (i32.xor (local.get $slot) (i32.shr_u (local.get $slot) (i32.const 15))) (i32.const 32767))
        (i32.const 2)))
    (block $found
      (block $none
        (br_if $none (i32.eq (global.get $cur) (i32.const 1056)))
        (loop $next
          (local.set $node
            (i32.load offset=525312 (local.tee $at (i32.add (global.get $base) (local.get $slot)))))
          (if (local.get $node)
            (then
              (local.set $at (i32.add (global.get $base) (local.get $node)))
              (br_if $found
                (i32.and
                  (i32.eq (i32.load (local.get $at)) (local.get $id))
                  (i32.eq (i32.load offset=4 (local.get $at)) (global.get $cur))))
              (local.set $slot (i32.and (i32.add (local.get $slot) (i32.const 4)) (i32.const 131068)))
              (br $next))))
        (br_if $none (i32.ge_u (global.get $free) (i32.const 525312)))
        (local.set $node (global.get $free))
        (global.set $free (i32.add (local.get $node) (i32.const 32)))
        (i32.store offset=525312 (local.get $at) (local.get $node))
        (local.set $at (i32.add (global.get $base) (local.get $node)))
        (i32.store (local.get $at) (local.get $id))
        (i32.store offset=4 (local.get $at) (global.get $cur))
        (br $found))
      ;; There is no room.
      (local.set $bits (i32.or (i32.or (local.get $bits) (i32.const 1)) (global.get $cur)))
      (local.set $node (i32.const 1056))
      (local.set $at (i32.add (global.get $base) (local.get $node)))
      (i32.store (local.get $at) (i32.const -4))
      (i32.store offset=4 (local.get $at) (i32.const 1024))
      (call $called (local.get $at))
      (global.set $cur (local.get $node))
      (return (local.get $bits)))
    (call $called (local.get $at))
    ;; Outermost calls never take the short way.
    (if (i32.eqz (local.get $bits))
      (then (i32.store offset=8 (i32.add (global.get $base) (global.get $cur)) (local.get $node))))
    (global.set $cur (local.get $node))
    (i32.or (local.get $node) (local.get $bits)))

  (func $called (param $node i32)
    (i64.store offset=24 (local.get $node) (i64.add (i64.load offset=24 (local.get $node)) (i64.const 1))))

  (func $leave (export "leave") (param $token i32)
    (call $charge)
    ;; #if files
    (if (i32.and
          (global.get $began)
          (i32.or
            (i32.shr_u (i32.and (local.get $token) (i32.const 2)) (i32.const 1))
            (i64.ge_u (global.get $instructions) (global.get $next))))
      (then (call $reading)))
    ;; #end
    (global.set $cur (i32.and (local.get $token) (i32.const -32)))
    (if (i32.eqz (i32.and (local.get $token) (i32.const 1)))
      (then (global.set $cur (i32.load offset=4 (i32.add (global.get $base) (global.get $cur)))))))

  ;; The frame with this token caught something.
  (func $unwind (export "unwind") (param $token i32)
    (call $charge)
    (global.set $cur
      (select
        (i32.const 1056)
        (i32.and (local.get $token) (i32.const -32))
        (i32.and (local.get $token) (i32.const 1)))))

  ;; The program's `memory.grow`.
  (func $grow (export "inside.grow") (param $delta i32) (result i32)
    (local.set $delta (memory.grow (local.get $delta)))
    (call $settle)
    (select
      (i32.const -1)
      (i32.sub (local.get $delta) (global.get $pages))
      (i32.eq (local.get $delta) (i32.const -1))))

  ;; If the memory has grown, the recorder moves to its end, and leaves zeros.
  (func $settle (local $delta i32) (local $size i32)
    (local.set $delta
      (i32.sub (i32.sub (memory.size) (global.get $pages)) (i32.shr_u (global.get $base) (i32.const 16))))
    (if (local.get $delta)
      (then
        (local.set $delta (i32.shl (local.get $delta) (i32.const 16)))
        (local.set $size (i32.shl (global.get $pages) (i32.const 16)))
        (memory.copy (i32.add (global.get $base) (local.get $delta)) (global.get $base) (local.get $size))
        (memory.fill
          (global.get $base)
          (i32.const 0)
          (select (local.get $delta) (local.get $size) (i32.lt_u (local.get $delta) (local.get $size))))
        (global.set $base (i32.add (global.get $base) (local.get $delta))))))

  ;; The address of a text, and its length.
  (func $at (param $text i32) (result i32)
    (i32.add
      (global.get $base)
      (i32.load offset=64 (i32.add (global.get $base) (i32.shl (local.get $text) (i32.const 3))))))
  (func $length (param $text i32) (result i32)
    (i32.load offset=68 (i32.add (global.get $base) (i32.shl (local.get $text) (i32.const 3)))))

  (func $text (param $text i32)
    (memory.copy (global.get $out) (call $at (local.get $text)) (call $length (local.get $text)))
    (global.set $out (i32.add (global.get $out) (call $length (local.get $text)))))

  (func $digits (param $n i64)
    (if (i64.ge_u (local.get $n) (i64.const 10)) (then (call $digits (i64.div_u (local.get $n) (i64.const 10)))))
    (call $byte (i32.add (i32.wrap_i64 (i64.rem_u (local.get $n) (i64.const 10))) (i32.const 48))))

  (func $byte (param $byte i32)
    (i32.store8 (global.get $out) (local.get $byte))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))

  (func $number (param $n i64)
    (loop $more
      (if (i64.ge_u (local.get $n) (i64.const 128))
        (then
          (call $byte (i32.or (i32.wrap_i64 (local.get $n)) (i32.const 128)))
          (local.set $n (i64.shr_u (local.get $n) (i64.const 7)))
          (br $more))))
    (call $byte (i32.wrap_i64 (local.get $n))))

  ;; Writes a number into a hole of the header.
  (func $fill (param $hole i32) (param $n i64)
    (global.set $out (call $at (local.get $hole)))
    (memory.fill (global.get $out) (i32.const 32) (call $length (local.get $hole)))
    (call $digits (local.get $n)))

  (func $crc (param $at i32) (param $end i32) (result i32) (local $crc i32)
    (local.set $crc (i32.const -1))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $crc (i32.xor (local.get $crc) (i32.load8_u (local.get $at))))
        (local.set $crc (call $nibble (call $nibble (local.get $crc))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $more)))
    (i32.xor (local.get $crc) (i32.const -1)))
  (func $nibble (param $crc i32) (result i32)
    (i32.xor
      (i32.shr_u (local.get $crc) (i32.const 4))
      (i32.load offset=208
        (i32.add (global.get $base) (i32.shl (i32.and (local.get $crc) (i32.const 15)) (i32.const 2))))))

  ;; Begins a chunk here.
  (func $chunk (param $kind i64) (result i32)
    (i64.store (global.get $out) (local.get $kind))
    (i64.store offset=8 (global.get $out) (i64.const 0))
    (global.get $out)
    (global.set $out (i32.add (global.get $out) (i32.const 28))))

  ;; Ends the chunk at this address here: its length and checksums.
  (func $seal (param $chunk i32) (local $payload i32)
    (local.set $payload (i32.add (local.get $chunk) (i32.const 28)))
    (i32.store offset=16 (local.get $chunk) (i32.sub (global.get $out) (local.get $payload)))
    (i32.store offset=20 (local.get $chunk) (call $crc (local.get $payload) (global.get $out)))
    (i32.store offset=24 (local.get $chunk)
      (call $crc (local.get $chunk) (i32.add (local.get $chunk) (i32.const 24)))))

  ;; The trace's time, in ticks.
  (func $now (result i64)
    ;; #if files
    (if (global.get $moved) (then (return (i64.add (global.get $first) (global.get $seen)))))
    ;; #end
    (global.get $instructions))

  ;; Completes the header.
  (func $head
    (global.set $out (call $at (i32.const 13)))
    ;; #if files
    (call $text (i32.sub (i32.const 10) (global.get $moved)))
    (call $fill (i32.const 14) (select (global.get $first) (i64.const 0) (global.get $moved)))
    (call $fill (i32.const 15) (global.get $unix))
    ;; #else
    (call $text (i32.const 10))
    (call $fill (i32.const 14) (i64.const 0))
    (call $fill (i32.const 15) (i64.const 0))
    ;; #end
    (global.set $out (i32.add (i32.add (call $at (i32.const 12)) (i32.const 28)) (call $length (i32.const 12))))
    (call $seal (call $at (i32.const 12))))

  ;; A time as ticks.
  (func $ticks (param $node i32) (result i64) (local $time i64)
    (local.set $time (i64.load offset=16 (local.get $node)))
    (i64.shr_u
      (select (local.get $time) (i64.const 0) (i64.gt_s (local.get $time) (i64.const 0)))
      (i64.const 12)))

  ;; Writes a window: what passed since the last one.
  (func $window (local $chunk i32) (local $body i32) (local $node i32) (local $at i32) (local $count i32) (local $n i32)
    (local.set $chunk (call $chunk (i64.const 0x464f525066706bf5)))
    (local.set $body (global.get $out))
    (i64.store (local.get $body) (i64.const 0))
    (global.set $out (i32.add (local.get $body) (i32.const 8)))
    ;; #if files
    (if (i32.and (global.get $moved) (i64.lt_u (global.get $starts) (global.get $first)))
      (then (global.set $starts (global.get $first))))
    ;; #end
    (call $number (global.get $starts))
    (call $number (i64.sub (call $now) (global.get $starts)))
    ;; No samples: period, shortest span, samples, torn and cut ones.
    (local.set $n (i32.const 5))
    (loop $zeros
      (call $byte (i32.const 0))
      (br_if $zeros (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (call $number (call $ticks (i32.add (global.get $base) (i32.const 1024))))
    (call $byte (i32.const 0))
    ;; The nodes with anything in or below them.
    (local.set $node (global.get $free))
    (loop $up
      (local.set $node (i32.sub (local.get $node) (i32.const 32)))
      (local.set $at (i32.add (global.get $base) (local.get $node)))
      (if (i64.ne
            (i64.or
              (i64.load32_u offset=12 (local.get $at))
              (i64.or (i64.load offset=24 (local.get $at)) (call $ticks (local.get $at))))
            (i64.const 0))
        (then
          (local.set $count (i32.add (local.get $count) (i32.const 1)))
          (i32.store offset=12 (local.get $at) (i32.const 1))
          (i32.store offset=12 (i32.add (global.get $base) (i32.load offset=4 (local.get $at))) (i32.const 1))))
      (br_if $up (i32.gt_u (local.get $node) (i32.const 1056))))
    (i32.store offset=12 (i32.add (global.get $base) (i32.const 1024)) (i32.const 0))
    (call $number (i64.extend_i32_u (local.get $count)))
    (loop $down
      (local.set $at (i32.add (global.get $base) (local.get $node)))
      (if (i32.load offset=12 (local.get $at))
        (then
          (i32.store offset=12 (local.get $at) (local.tee $n (i32.add (local.get $n) (i32.const 1))))
          (call $number
            (i64.extend_i32_u
              (i32.sub
                (local.get $n)
                (i32.load offset=12 (i32.add (global.get $base) (i32.load offset=4 (local.get $at)))))))
          (call $number (i64.load32_u (local.get $at)))
          (call $byte (i32.const 0))
          (call $number (call $ticks (local.get $at)))))
      (local.set $node (i32.add (local.get $node) (i32.const 32)))
      (br_if $down (i32.lt_u (local.get $node) (global.get $free))))
    ;; No counts of functions, places, parents. The counts of nodes follow.
    (call $byte (i32.const 0))
    (call $byte (i32.const 0))
    (call $byte (i32.const 0))
    (local.set $node (i32.const 1056))
    (loop $counts
      (local.set $at (i32.add (global.get $base) (local.get $node)))
      (if (i32.load offset=12 (local.get $at)) (then (call $number (i64.load offset=24 (local.get $at)))))
      (i32.store offset=12 (local.get $at) (i32.const 0))
      (local.set $node (i32.add (local.get $node) (i32.const 32)))
      (br_if $counts (i32.lt_u (local.get $node) (global.get $free))))
    (i32.store offset=4 (local.get $body)
      (i32.sub (global.get $out) (i32.add (local.get $body) (i32.const 8))))
    (call $seal (local.get $chunk)))

  ;; After a window is written: the next one begins.
  (func $reset (local $node i32) (local $at i32) (local $time i64)
    (global.set $starts (call $now))
    (local.set $node (i32.const 1024))
    (loop $more
      (local.set $at (i32.add (global.get $base) (local.get $node)))
      (local.set $time (i64.load offset=16 (local.get $at)))
      ;; What was no whole tick stays, also what is missing.
      (if (i64.gt_s (local.get $time) (i64.const 0))
        (then (i64.store offset=16 (local.get $at) (i64.and (local.get $time) (i64.const 4095)))))
      (i64.store offset=24 (local.get $at) (i64.const 0))
      (local.set $node (i32.add (local.get $node) (i32.const 32)))
      (br_if $more (i32.lt_u (local.get $node) (global.get $free)))))

  ;; Writes the last chunk. Outcomes: 0 completed, 1 trap, 2 exit, 3 none.
  (func $end (param $outcome i32) (param $code i32) (local $chunk i32)
    (local.set $chunk (call $chunk (i64.const 0x54444e4566706bf5)))
    (call $text (local.get $outcome))
    (if (i32.eq (local.get $outcome) (i32.const 2))
      (then
        (call $digits (i64.extend_i32_u (local.get $code)))
        (call $byte (i32.const 34))))
    (call $text (i32.const 4))
    (call $digits (call $now))
    ;; #if files
    (if (global.get $moved)
      (then
        (call $text (i32.const 5))
        (call $digits (global.get $readings))
        (call $text (i32.const 6))
        (call $digits (global.get $cost))
        (call $text (i32.const 7))
        (call $seal (local.get $chunk))
        (return)))
    ;; #end
    (call $text (i32.const 8))
    (call $seal (local.get $chunk)))

  ;; The host fetches a file with what was not written yet: its address, and its length in the upper half.
  (func (export "take") (result i64) (local $length i32)
    (call $charge)
    ;; #if files
    (if (global.get $began) (then (call $account (call $time))))
    ;; #end
    (call $head)
    (global.set $out (i32.add (call $at (i32.const 16)) (call $length (i32.const 16))))
    (call $window)
    (call $end (i32.const 3) (i32.const 0))
    (call $reset)
    (local.set $length (i32.sub (global.get $out) (call $at (i32.const 16))))
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $length)) (i64.const 32))
      (i64.extend_i32_u (call $at (i32.const 16)))))

  ;; #if files
  ;; Appends a window to the file; and the end, unless the outcome is negative. The file is never open while the program runs: programs look for
  ;; their folders at all open files.
  (func $save (param $outcome i32) (param $code i32) (local $from i32) (local $fd i32)
    (if (i32.eq (global.get $folder) (i32.const -2)) (then (return)))
    (local.set $fd (call $open))
    (if (i32.lt_s (local.get $fd) (i32.const 0)) (then (global.set $folder (i32.const -2)) (return)))
    (local.set $from (i32.add (call $at (i32.const 16)) (call $length (i32.const 16))))
    (if (i32.eqz (global.get $written)) (then (call $head)))
    (global.set $out (local.get $from))
    (call $window)
    (if (i32.ge_s (local.get $outcome) (i32.const 0))
      (then (call $end (local.get $outcome) (local.get $code))))
    (if (i32.eqz (global.get $written)) (then (local.set $from (call $at (i32.const 16)))))
    (global.set $written (i32.const 1))
    (block $full
      (loop $more
        (i32.store offset=16 (global.get $base) (local.get $from))
        (i32.store offset=20 (global.get $base) (i32.sub (global.get $out) (local.get $from)))
        (i32.store offset=24 (global.get $base) (i32.const 0))
        ;; A host may take less at once. A full disk takes nothing: what is in this window can still be fetched.
        (br_if $full
          (call $fd_write
            (local.get $fd)
            (i32.add (global.get $base) (i32.const 16))
            (i32.const 1)
            (i32.add (global.get $base) (i32.const 24))))
        (br_if $full (i32.eqz (i32.load offset=24 (global.get $base))))
        (local.set $from (i32.add (local.get $from) (i32.load offset=24 (global.get $base))))
        (br_if $more (i32.lt_u (local.get $from) (global.get $out))))
      (drop (call $fd_close (local.get $fd)))
      (call $reset)
      (return))
    (drop (call $fd_close (local.get $fd)))
    (global.set $folder (i32.const -2)))

  ;; Opens the file: at first in the first folder that takes it, which makes or empties it, then there to append. -1: no folder takes it.
  (func $open (result i32) (local $path i32) (local $length i32) (local $at i32)
    (local.set $path (call $at (i32.const 11)))
    (local.set $length (call $length (i32.const 11)))
    (global.set $out (i32.add (call $at (i32.const 16)) (call $length (i32.const 16))))
    (call $named)
    (if (local.tee $at (i32.load offset=40 (global.get $base)))
      (then
        (local.set $path (local.get $at))
        (local.set $length (i32.const 0))
        (block $end
          (loop $more
            (br_if $end (i32.eqz (i32.load8_u (i32.add (local.get $path) (local.get $length)))))
            (local.set $length (i32.add (local.get $length) (i32.const 1)))
            (br $more)))))
    ;; Paths are relative to a folder.
    (block $end
      (loop $more
        (br_if $end (i32.ne (i32.load8_u (local.get $path)) (i32.const 47)))
        (br_if $end (i32.eqz (local.get $length)))
        (local.set $path (i32.add (local.get $path) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $more)))
    (if (i32.eqz (local.get $length)) (then (return (i32.const -1))))
    (if (i32.eq (global.get $folder) (i32.const -1)) (then (global.set $folder (i32.const 3))))
    (loop $next
      (if (call $fd_prestat_get (global.get $folder) (i32.add (global.get $base) (i32.const 48)))
        (then (return (i32.const -1))))
      (if (i32.eqz
            (call $path_open
              (global.get $folder)
              (i32.const 0)
              (local.get $path)
              (local.get $length)
              (select (i32.const 0) (i32.const 9) (global.get $written))
              (i64.const 64)
              (i64.const 0)
              (global.get $written)
              (i32.add (global.get $base) (i32.const 40))))
        (then (return (i32.load offset=40 (global.get $base)))))
      (if (global.get $written) (then (return (i32.const -1))))
      (global.set $folder (i32.add (global.get $folder) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; Finds the value of KPERF_TRACE: its address, or 0, is at 40.
  (func $named (local $names i32) (local $left i32)
    (i32.store offset=40 (global.get $base) (i32.const 0))
    (if (call $environ_sizes_get
          (i32.add (global.get $base) (i32.const 48))
          (i32.add (global.get $base) (i32.const 52)))
      (then (return)))
    (local.set $left (i32.load offset=48 (global.get $base)))
    ;; There is room for as much as for a window.
    (if (i32.or
          (i32.gt_u (local.get $left) (i32.const 50000))
          (i32.gt_u (i32.load offset=52 (global.get $base)) (i32.const 200000)))
      (then (return)))
    (local.set $names (global.get $out))
    (if (call $environ_get
          (local.get $names)
          (i32.add (local.get $names) (i32.shl (local.get $left) (i32.const 2))))
      (then (return)))
    (block $end
      (loop $more
        (br_if $end (i32.eqz (local.get $left)))
        (if (i32.and
              (i64.eq (i64.load (i32.load (local.get $names))) (i64.const 0x52545f465245504b))
              (i32.eq (i32.load offset=8 (i32.load (local.get $names))) (i32.const 0x3d454341)))
          (then
            (i32.store offset=40 (global.get $base) (i32.add (i32.load (local.get $names)) (i32.const 12)))
            (return)))
        (local.set $names (i32.add (local.get $names) (i32.const 4)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $more))))

  ;; The program ends.
  (func $finish (param $outcome i32) (param $code i32)
    (if (i32.or (global.get $done) (global.get $held)) (then (return)))
    (global.set $done (i32.const 1))
    (call $charge)
    (if (global.get $began) (then (call $account (call $time))))
    (call $save (local.get $outcome) (local.get $code)))

  (func (export "inside.completed") (call $finish (i32.const 0) (i32.const 0)))
  ;; Before an `unreachable`.
  (func (export "inside.abort") (call $finish (i32.const 1) (i32.const 0)))
  ;; In the place of `proc_exit`.
  (func (export "inside.exit") (param $code i32)
    (call $finish (i32.const 2) (local.get $code))
    (call $proc_exit (local.get $code)))
  ;; The rewriter adds a call of the module's `_start`, and of `completed`.
  (func (export "inside.command"))
  ;; The rewriter adds a call of the module's start function, and of `started`.
  (func (export "inside.start") (global.set $held (i32.const 1)))
  (func (export "inside.started") (global.set $held (i32.const 0)))
  ;; #end

  ;; The code in functions. The rewriter copies these bodies (rewriter/src/instrument/template.rs): $id becomes the function's id, the
  ;; others locals. Nothing calls them.
  (func (export "inline.enter") (param $id i32) (param $token i32) (param $node i32)
    (local.set $node (i32.add (global.get $base) (global.get $cur)))
    (i64.store offset=16 (local.get $node)
      (i64.add
        (i64.load offset=16 (local.get $node))
        (i64.mul (i64.sub (global.get $instructions) (global.get $last)) (global.get $rate))))
    (global.set $last (global.get $instructions))
    (local.set $token (i32.load offset=8 (local.get $node)))
    (local.set $node (i32.add (global.get $base) (local.get $token)))
    (if (i32.or
          (i32.ne (i32.load (local.get $node)) (local.get $id))
          (i64.ge_u (global.get $last) (global.get $next)))
      (then (local.set $token (call $enter (local.get $id))))
      (else
        (global.set $cur (local.get $token))
        (i64.store offset=24 (local.get $node) (i64.add (i64.load offset=24 (local.get $node)) (i64.const 1))))))

  (func (export "inline.leave") (param $id i32) (param $token i32) (param $node i32)
    (local.set $node (i32.add (global.get $base) (global.get $cur)))
    (i64.store offset=16 (local.get $node)
      (i64.add
        (i64.load offset=16 (local.get $node))
        (i64.mul (i64.sub (global.get $instructions) (global.get $last)) (global.get $rate))))
    (global.set $last (global.get $instructions))
    (if (i32.or
          (i32.and (local.get $token) (i32.const 3))
          (i64.ge_u (global.get $last) (global.get $next)))
      (then (call $leave (local.get $token)))
      (else (global.set $cur (i32.load offset=4 (i32.add (global.get $base) (local.get $token)))))))

  (func (export "inline.unwind") (param $id i32) (param $token i32)
    (if (i32.ne (global.get $cur) (i32.and (local.get $token) (i32.const -32)))
      (then (call $unwind (local.get $token)))))

  (func (export "inline.here") (param $id i32) (param $token i32)
    (local.set $token (global.get $cur)))
  (func (export "inline.back") (param $id i32) (param $token i32)
    (if (i32.ne (global.get $cur) (local.get $token)) (then (call $unwind (local.get $token)))))
)
