;; The recorder: what answers kperf.enter, kperf.leave and kperf.unwind on every host.
;;
;; It keeps the depth of the guest's stack and writes words of four bytes into a block of its memory. It calls the host only
;; when the block is full (and, in the precise form, for the time). src/word.rs says what the words mean, src/block.rs has the
;; layout of the memory. Eight modules are made from this file and the three that it includes. They differ between `;; #if
;; FORM..`, `;; #else` and `;; #end`:
;;
;;   precise   A call of the host gives the time. Every event has a time word in front of it.
;;   ticker    The time is loaded from a memory that another thread writes. A time word is written only when the time has
;;             changed. If that thread isn't run, the host writes 0 there; then a call of the host gives the time.
;;   inline    The rewriter puts this form into the module itself. It works with either clock: it loads the time from the front
;;             of the lane's memory, and asks the host while that is 0. All ones there mean that nothing is recorded. Behind it is
;;             the limit of the write position: whoever writes the time sets it to 0, so that an event needs one comparison to
;;             know that the time is as it was and that the block has room. The write position and the depth are in one global,
;;             which saves 1 ns a call. Other threads find the end of the words in another way: before a block begins, the host
;;             fills it with ones, and no word is all ones.
;;   instructions   As inline, but the clock is a global: the rewriter makes the module add to it the number of instructions that
;;             were executed. It moves with nearly every event, so every event has a time word in front of it.
;;
;;   component   As inline, but it stands beside the core modules of a component, which import it. Its memory is imported and not
;;             shared, because canonical options take no shared one. While the component may not be left (in `realloc` and
;;             `post-return`), it doesn't call the host: `$hold` says so. Two modules are made of it: `asking` takes the time as
;;             above, `counted` from a global that it exports, to which the core modules add the number of their instructions.
;;
;; What stands behind `;; #if allocations` is in the first two, and in two more modules that are as the last two else.
;;
;; `(position.get)`, `(position.set X)` and the same of `depth` stand for the position and the depth, wherever a form has them,
;; `(time.get)` for the host's time (src/recorder.rs). Branch hints say what is rare: engines put that behind the usual code.
;;
;; The memory is shared and has the write position in it. So a host can read what was recorded at any moment and from any
;; thread: after a trap, in a thread that handles signals, when the store is gone. (A memory of its own and globals would save
;; 0.5 ns a call and lose all that.) An event's words are written first; storing the position then publishes them. No call and
;; no loop stands between updates that belong together. So whatever interrupts the recorder, it leaves complete events.
;;
;; A token is the depth of its frame, counted from 1. Token 0 belongs to no frame: some engines lose a local across an atomic
;; wait and pass 0.
(module $kperf_recorder
  ;; #if precise ticker
  (import "kperf:host" "memory" (memory $block 2 2 shared))
  ;; #end
  ;; #if ticker
  (import "kperf:host" "clock" (memory $clock 1 1 shared))
  ;; #end
  ;; #if precise ticker inline asking
  (import "kperf:host" "now" (func $host_now (result i64)))
  ;; #end
  ;; #if component
  ;; Answers the number of the lane, for `flush`.
  ;; #if asking
  (import "kperf:host" "attach" (func $host_attach (param $address i32) (param $length i32) (result i32)))
  ;; #end
  ;; #if counted
  (import "kperf:host" "attach-counting" (func $host_attach (param $address i32) (param $length i32) (result i32)))
  ;; #end
  (import "kperf:host" "flush"
    (func $host_flush (param $lane i32) (param $depth i32) (param $last i64) (param $lost i64) (param $address i32)
      (param $length i32)))
  (import "kperf:host" "memory" (memory $block 2 2))
  (export "memory" (memory $block))
  ;; #else
  (import "kperf:host" "flush" (func $host_flush (param $address i32) (param $length i32)))
  ;; #end
  ;; #if inline instructions
  (memory $block (export "memory") 2 2 shared)
  ;; #end

  ;; These are exported so that a host can close frames itself where it can't call: without fuel, after an epoch, from a fiber.
  ;; #if inline instructions
  ;; The lower half is where the next word goes, 0 before the first event; the upper half is how many frames of the running stack
  ;; are open. One load and one store less for each event than with two globals.
  (global $head (export "state.head") (mut i64) (i64.const 0))
  ;; #else
  (global $depth (export "state.depth") (mut i32) (i32.const 0))  ;; open frames of the running stack
  ;; #end
  (global $stack (export "state.stack") (mut i32) (i32.const 0))  ;; the stack that runs
  ;; The time of the last word, in ticks. No clock says what it is at first, so the first event always takes the slow path.
  ;; #if instructions
  (global $last (export "state.last") (mut i64) (i64.const 0x7fffffffffffffff))
  ;; #else
  (global $last (export "state.last") (mut i64) (i64.const 1))
  ;; #end
  ;; #if component
  (global $position (export "state.position") (mut i32) (i32.const 0))  ;; where the next word goes
  ;; #end
  ;; #if instructions
  (global $instructions (export "state.instructions") (mut i64) (i64.const 0))
  ;; #end
  ;; #if counted
  (global $instructions (export "instructions") (mut i64) (i64.const 0))
  ;; #end

  ;; #if component
  (global $hold (export "hold") (mut i32) (i32.const 0))  ;; how many calls are open in which the component may not be left
  ;; The token of a call from outside that has returned, and whose result the host lifts; 0 if there is none.
  (global (export "returned") (mut i32) (i32.const 0))
  (global $lane (mut i32) (i32.const 0))
  ;; #end

  ;; #if allocations
  ;; The token of the outermost call of an allocator's function that is open; 0 if none is.
  (global $allocator (export "state.allocator") (mut i32) (i32.const 0))
  ;; #if inline instructions
  ;; Of what is allocated only samples are recorded: one in so many bytes on average; 0: all of it. The rewriter sets it.
  (global $sample (export "state.sample") i64 (i64.const 0))
  (global $until (mut i64) (i64.const 0))  ;; how many bytes it is to the next sample; 0 before the first
  (global $random (mut i64) (i64.const 0x2545f4914f6cdd1d))
  ;; #end
  ;; #end

  ;; The first address where no event may begin. The memory ends at 131072, an event takes at most four words (a wide time and
  ;; its own word), and a leave may have an unwind in front of it.
  ;; #if component
  ;; Behind it there is room for what comes while the component may not be left: first for all events, at the end only for those
  ;; that close frames.
  (global $full i32 (i32.const 98304))
  (global $last_enter i32 (i32.const 122880))
  (global $very_last i32 (i32.const 131044))
  ;; #else
  (global $full i32 (i32.const 131048))
  ;; #end

  ;; #if precise ticker component
  (start $init)
  ;; #end
  (func $init
    ;; #if component
    (global.set $lane (call $host_attach (i32.const 0) (i32.const 131072)))
    (position.set (i32.const 4112))
    ;; #end
    ;; #if inline instructions
    ;; This comes before the first event, which may be one of a start section. It tells the host that the instance exists.
    (call $host_flush (i32.const 4096) (i32.const 0))
    (position.set (i32.const 4112))
    ;; #end
    ;; #if inline asking
    ;; The ticker's time, if there is a ticker: the host's clock is ahead of it, and up to the next tick the time would seem to
    ;; go back. 0 and all ones are no times.
    (global.set $last (i64.load (i32.const 0)))
    (if (i64.lt_u (i64.add (global.get $last) (i64.const 1)) (i64.const 2))
      (then (global.set $last (time.get))))
    ;; #end
    ;; #if instructions counted
    (global.set $last (global.get $instructions))
    ;; #end
    ;; #if precise ticker
    (global.set $last (call $now))
    ;; #end
    (i32.store (i32.const 4096) (global.get $stack))
    (i32.store (i32.const 4100) (depth.get))
    (i64.store (i32.const 4104) (global.get $last))
    (position.set (i32.const 4112)))

  ;; #if asking
  ;; The host's time. While the component may not be left, time stands still: at the last event, or where the host's call began.
  (func $ask (result i64)
    (if (global.get $hold)
      (then
        (return
          (select
            (global.get $last)
            (i64.load (i32.const 80))
            (i64.gt_u (global.get $last) (i64.load (i32.const 80)))))))
    (call $host_now))
  ;; #end

  (func $now (result i64)
    ;; #if precise
    (time.get)
    ;; #end
    ;; #if ticker inline asking
    (local $now i64)
    ;; #end
    ;; #if inline instructions
    (if (i32.eqz (position.get)) (then (call $init)))
    ;; #end
    ;; #if instructions counted
    (select
      (i64.const -1)
      (global.get $instructions)
      (i64.eq (i64.load (i32.const 0)) (i64.const -1)))
    ;; #end
    ;; #if inline asking
    (local.set $now (i64.load (i32.const 0)))
    ;; #end
    ;; #if ticker
    (local.set $now (i64.load $clock (i32.const 0)))
    ;; #end
    ;; #if ticker inline asking
    (if (i64.eqz (local.get $now)) (then (local.set $now (time.get))))
    (local.get $now)
    ;; #end
  )

  ;; Hands the block to the host, if anything is in it, and begins another. The new header is written without a call, which
  ;; could be refused (fuel, epochs) and leave the old header there. The position is written last and the header's time just
  ;; before it: by that time a host that reads meanwhile knows whether the block has begun.
  (func $flush (export "flush")
    (local $length i32)
    ;; #if component
    (if (global.get $hold) (then (return)))
    ;; #end
    (local.set $length (i32.sub (position.get) (i32.const 4096)))
    (if (i32.gt_s (local.get $length) (i32.const 16))
      (then
        ;; #if component
        (call $host_flush
          (global.get $lane) (depth.get) (global.get $last) (i64.load (i32.const 72)) (i32.const 4096)
          (local.get $length))
        (i64.store (i32.const 72) (i64.const 0))
        ;; #else
        (call $host_flush (i32.const 4096) (local.get $length))
        ;; #end
        (i32.store (i32.const 4096) (global.get $stack))
        (i32.store (i32.const 4100) (depth.get))
        (i64.store (i32.const 4104) (global.get $last))
        (position.set (i32.const 4112)))))

  ;; The slow path of every event: the block is full, or the clock has moved (in the precise form: by more than a time word can
  ;; hold; inside a module, if it may have moved). Returns the address for the caller's word. If the clock goes back, it counts as
  ;; standing still.
  (func $make_room (param $now i64) (result i32)
    (local $position i32) (local $delta i64)
    ;; #if ticker inline asking
    (local $seen i64)
    ;; #end
    ;; #if ticker
    ;; The event has loaded the time itself; it passes on the 0 that it found.
    (if (i64.eqz (local.get $now)) (then (local.set $now (time.get))))
    ;; #end
    (local.set $position (position.get))
    (if (i32.ge_u (local.get $position) (global.get $full))
      (then
        ;; #if ticker
        (local.set $seen (i64.load $clock (i32.const 0)))
        ;; #end
        ;; #if inline asking
        (local.set $seen (i64.load (i32.const 0)))
        ;; #end
        (call $flush)
        ;; If the host has written 0 meanwhile, the time was too old for this event too.
        ;; #if ticker
        (if (i64.gt_u (local.get $seen) (i64.load $clock (i32.const 0))) (then (local.set $now (time.get))))
        ;; #end
        ;; #if inline asking
        (if (i64.gt_u (local.get $seen) (i64.load (i32.const 0))) (then (local.set $now (time.get))))
        ;; #end
        (local.set $position (position.get))))
    (local.set $delta (i64.sub (local.get $now) (global.get $last)))
    (if (i64.gt_s (local.get $delta) (i64.const 0))
      (then
        (if (i64.lt_u (local.get $delta) (i64.const 0x40000000))
          (then
            (i32.store (local.get $position) (i32.or (i32.const 0x40000000) (i32.wrap_i64 (local.get $delta))))
            (local.set $position (i32.add (local.get $position) (i32.const 4))))
          (else
            ;; The tag is written last: in the inline form it publishes the two words behind it.
            (i64.store offset=4 (local.get $position) (local.get $delta))
            (i32.store (local.get $position) (i32.const 0xe0000000))
            (local.set $position (i32.add (local.get $position) (i32.const 12)))))
        (global.set $last (local.get $now))
        (position.set (local.get $position))))
    ;; #if inline instructions
    ;; From here on events needn't look until the clock is written again: then the limit becomes 0. What is written before the
    ;; exchange is seen by the second load, what is written behind it by the next event. No call stands between the time and this.
    (@metadata.code.branch_hint "\00") (if (i32.eqz (i32.load (i32.const 8)))
      (then
        ;; #if inline
        ;; Not while the host is asked, nor if the time has changed meanwhile.
        (if (i32.and (i64.ne (local.get $now) (i64.const 0)) (i64.eq (i64.load (i32.const 0)) (local.get $now)))
          (then
            (drop (i32.atomic.rmw.xchg (i32.const 8) (global.get $full)))
            (if (i64.ne (i64.load (i32.const 0)) (local.get $now)) (then (i32.atomic.store (i32.const 8) (i32.const 0))))))
        ;; #end
        ;; #if instructions
        (drop (i32.atomic.rmw.xchg (i32.const 8) (global.get $full)))
        (if (i64.eq (i64.load (i32.const 0)) (i64.const -1)) (then (i32.atomic.store (i32.const 8) (i32.const 0))))
        ;; #end
        ))
    ;; #end
    (local.get $position))

  ;; Writes a word other than an enter or a leave.
  (func $put (param $word i32)
    (local $position i32) (local $now i64)
    (local.set $now (call $now))
    ;; #if inline component instructions
    (if (i64.eq (local.get $now) (i64.const -1)) (then (return)))
    ;; #end
    ;; #if component
    (if (i32.gt_u (position.get) (global.get $very_last)) (then (if (call $lose (i64.const 1)) (then (return)))))
    ;; #end
    (local.set $position (call $make_room (local.get $now)))
    (i32.store (local.get $position) (local.get $word))
    (position.set (i32.add (local.get $position) (i32.const 4))))

  ;; #include recorder.component.wat

  ;; #if component
  (func $enter_slow (param $func_id i32) (result i32)
  ;; #else
  (func $enter (export "enter") (param $func_id i32) (result i32)
  ;; #end
    (local $position i32) (local $now i64) (local $delta i64)
    (local.set $now
      ;; #if ticker
      (i64.load $clock (i32.const 0))
      ;; #end
      ;; #if precise
      (time.get)
      ;; #end
      ;; #if inline component instructions
      (call $now)
      ;; #end
    )
    ;; #if inline component instructions
    (if (i64.eq (local.get $now) (i64.const -1)) (then (return (i32.const -1))))
    ;; #end
    ;; #if component
    (if (i32.gt_u (position.get) (global.get $last_enter))
      (then (if (call $lose (i64.const 2)) (then (return (i32.const -1))))))
    ;; #end
    ;; #if inline instructions
    (local.set $position (call $make_room (local.get $now)))
    ;; #else
    (local.set $position (position.get))
    ;; #end
    ;; #if ticker component
    (@metadata.code.branch_hint "\00") (if (i32.or
          (i64.ne (local.get $now) (global.get $last))
          (i32.ge_u (local.get $position) (global.get $full)))
      (then (local.set $position (call $make_room (local.get $now)))))
    ;; #end
    ;; #if ticker inline component instructions
    (i32.store (local.get $position) (local.get $func_id))
    (position.set (i32.add (local.get $position) (i32.const 4)))
    ;; #else
    (local.set $delta (i64.sub (local.get $now) (global.get $last)))
    (@metadata.code.branch_hint "\00") (if (i32.or
          (i64.ge_u (local.get $delta) (i64.const 0x40000000))
          (i32.ge_u (local.get $position) (global.get $full)))
      (then
        (local.set $position (call $make_room (local.get $now)))
        (local.set $delta (i64.const 0)))
      (else (global.set $last (local.get $now))))
    (i32.store (local.get $position) (i32.or (i32.const 0x40000000) (i32.wrap_i64 (local.get $delta))))
    (i32.store offset=4 (local.get $position) (local.get $func_id))
    (position.set (i32.add (local.get $position) (i32.const 8)))
    ;; #end
    (depth.set (i32.add (depth.get) (i32.const 1)))
    (depth.get))

  ;; #if component
  (func $leave_slow (param $token i32)
  ;; #else
  (func $leave (export "leave") (param $token i32)
  ;; #end
    (local $position i32) (local $now i64) (local $delta i64)
    (@metadata.code.branch_hint "\00") (if (i32.or (i32.ne (local.get $token) (depth.get)) (i32.eqz (local.get $token)))
      (then (if (i32.eqz (call $heal (local.get $token))) (then (return)))))
    (local.set $now
      ;; #if ticker
      (i64.load $clock (i32.const 0))
      ;; #end
      ;; #if precise
      (time.get)
      ;; #end
      ;; #if inline component instructions
      (call $now)
      ;; #end
    )
    ;; #if inline component instructions
    (if (i64.eq (local.get $now) (i64.const -1)) (then (return)))
    ;; #end
    ;; #if component
    ;; The frame has ended, even if there is no room to say so.
    (if (i32.gt_u (position.get) (global.get $very_last))
      (then
        (if (call $lose (i64.const 1))
          (then
            (depth.set (i32.sub (depth.get) (i32.const 1)))
            (return)))))
    ;; #end
    ;; #if inline instructions
    (local.set $position (call $make_room (local.get $now)))
    ;; #else
    (local.set $position (position.get))
    ;; #end
    ;; #if ticker component
    (@metadata.code.branch_hint "\00") (if (i32.or
          (i64.ne (local.get $now) (global.get $last))
          (i32.ge_u (local.get $position) (global.get $full)))
      (then (local.set $position (call $make_room (local.get $now)))))
    ;; #end
    ;; #if ticker inline component instructions
    (i32.store (local.get $position) (i32.const 0x80000000))
    (position.set (i32.add (local.get $position) (i32.const 4)))
    ;; #else
    (local.set $delta (i64.sub (local.get $now) (global.get $last)))
    (@metadata.code.branch_hint "\00") (if (i32.or
          (i64.ge_u (local.get $delta) (i64.const 0x40000000))
          (i32.ge_u (local.get $position) (global.get $full)))
      (then
        (local.set $position (call $make_room (local.get $now)))
        (local.set $delta (i64.const 0)))
      (else (global.set $last (local.get $now))))
    (i32.store (local.get $position) (i32.or (i32.const 0x40000000) (i32.wrap_i64 (local.get $delta))))
    (i32.store offset=4 (local.get $position) (i32.const 0x80000000))
    (position.set (i32.add (local.get $position) (i32.const 8)))
    ;; #end
    (depth.set (i32.sub (depth.get) (i32.const 1))))

  ;; Handles a leave whose token isn't the depth. Frames above it were unwound without a word, so they are closed first. A lost
  ;; token (0) means the innermost frame; the token of a closed frame means nothing. Returns whether there is a frame to leave.
  (func $heal (param $token i32) (result i32)
    (if (i32.eqz (local.get $token)) (then (return (i32.ne (depth.get) (i32.const 0)))))
    (if (i32.gt_u (local.get $token) (depth.get)) (then (return (i32.const 0))))
    (call $close (i32.const 0) (local.get $token))
    (i32.const 1))

  ;; The frame with this token caught something: the frames above it were unwound.
  (func $unwind (export "unwind") (param $token i32)
    (if (i32.eq (local.get $token) (depth.get)) (then (return)))
    (if (i32.eqz (local.get $token)) (then (return)))
    (call $close (i32.const 0) (local.get $token)))

  ;; Closes the frames deeper than $depth, if there are any, for a reason (src/word.rs, Reason).
  (func $close (export "close") (param $reason i32) (param $depth i32)
    (if (i32.ge_u (local.get $depth) (depth.get)) (then (return)))
    (call $put
      (i32.or
        (i32.const 0xc0000000)
        (i32.or
          (i32.shl (i32.and (local.get $reason) (i32.const 7)) (i32.const 26))
          (i32.and (local.get $depth) (i32.const 0x3ffffff)))))
    ;; #if allocations
    (if (i32.gt_u (global.get $allocator) (local.get $depth)) (then (global.set $allocator (i32.const 0))))
    ;; #end
    (depth.set (local.get $depth)))

  ;; From now on another stack of this lane runs (JSPI, asyncify, fibers). A number beyond the 768 that fit is ignored.
  (func $switch (export "switch") (param $stack i32)
    (if (i32.eq (local.get $stack) (global.get $stack)) (then (return)))
    (if (i32.ge_u (local.get $stack) (i32.const 768)) (then (return)))
    (call $put (i32.or (i32.const 0xe4000000) (local.get $stack)))
    (i32.store offset=1024 (i32.shl (global.get $stack) (i32.const 2)) (depth.get))
    (depth.set (i32.load offset=1024 (i32.shl (local.get $stack) (i32.const 2))))
    (global.set $stack (local.get $stack)))

  (func $mark (export "mark") (param $value i32)
    (call $put (i32.or (i32.const 0xe8000000) (i32.and (local.get $value) (i32.const 0x3ffffff)))))

  (func (export "depth") (result i32) (depth.get))

  ;; #include recorder.allocations.wat

  ;; #include recorder.inside.wat
)
