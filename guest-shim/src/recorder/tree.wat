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
  (import "wasi_snapshot_preview1" "fd_filestat_get" (func $fd_filestat_get (param i32 i32) (result i32)))
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
  ;; How long the file is, and how many lines of a log are written.
  (global $size (mut i64) (i64.const 0))
  (global $lines (mut i64) (i64.const 0))
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

  ;; #include tree.file.wat

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
