;; The recorder: what answers kperf.enter, kperf.leave and kperf.unwind on every host.
;;
;; It keeps the depth of the guest's stack, writes words of four bytes into a block of its memory, and calls the host
;; only when the block is full (and, in the precise form, for the time). src/word.rs says what the words mean,
;; src/block.rs where things lie. Three modules are made from this file, which differ between `;; #if FORM..`, `;; #else`
;; and `;; #end`:
;;
;;   precise   the time comes from the host by a call; every event has a time word before it
;;   ticker    the time is one load from a memory that another thread writes; a time word is written when it has moved
;;   inline    what the rewriter puts into a module itself. It takes either clock: the time is loaded from the front of the
;;             lane's memory, and asked of the host by a call while that is 0. All ones there mean that nothing is recorded.
;;             The write position is a global, which costs 1 ns a call less. So that what is recorded can still be read from
;;             any thread, all behind the last one is ones, which no word is: the host sees to it before the recorder begins a block
;;
;; Where they differ in that, `(position.get)` and `(position.set X)` stand for it.
;;
;; The memory is shared and the write position lies in it, so that a host may read what was recorded at any moment and
;; from any thread: after a trap, in a thread that handles signals, when the store is long gone. (State in globals and a
;; memory of its own would save 0.5 ns a call here, and lose all that.) The store to the position publishes an event and
;; comes after its words, and no call or loop stands between updates that belong together: whatever interrupts the
;; recorder, whole events are left.
;;
;; A token is the depth of its frame, counted from 1. Token 0 is nobody's: some engines have lost a local across an
;; atomic wait and give 0 back.
(module $kperf_recorder
  ;; #if precise ticker
  (import "kperf:host" "memory" (memory $block 2 2 shared))
  ;; #end
  ;; #if ticker
  (import "kperf:host" "clock" (memory $clock 1 1 shared))
  ;; #else
  (import "kperf:host" "now" (func $host_now (result i64)))
  ;; #end
  (import "kperf:host" "flush" (func $host_flush (param $address i32) (param $length i32)))
  ;; #if inline
  (memory $block (export "memory") 2 2 shared)
  ;; #end

  ;; Exported, so that a host may close frames itself where it can't call: without fuel, after an epoch, from a fiber.
  (global $depth (export "state.depth") (mut i32) (i32.const 0))  ;; open frames of the running stack
  (global $stack (export "state.stack") (mut i32) (i32.const 0))  ;; the stack that runs
  ;; The time of the last word, in ticks. At first one that no clock says, so that the first event isn't like others.
  (global $last (export "state.last") (mut i64) (i64.const 1))
  ;; #if inline
  (global $position (export "state.position") (mut i32) (i32.const 0))  ;; where the next word goes; 0 before the first event
  ;; #end

  ;; Where the last event of a block may begin: an event takes at most four words (a wide time and itself), an unwind
  ;; may stand before a leave, and the memory ends at 131072.
  (global $last_start i32 (i32.const 131044))

  ;; #if precise ticker
  (start $init)
  ;; #end
  (func $init
    ;; #if inline
    ;; Before the first event, which may come from a start section: now the host learns of this instance.
    (call $host_flush (i32.const 4096) (i32.const 0))
    (position.set (i32.const 4112))
    ;; What the ticker says if there is one, or each event up to its next tick would be one of a clock that went back. But 0
    ;; and all ones are no times.
    (global.set $last (i64.load (i32.const 0)))
    (if (i64.lt_u (i64.add (global.get $last) (i64.const 1)) (i64.const 2))
      (then (global.set $last (call $host_now))))
    ;; #else
    (global.set $last (call $now))
    ;; #end
    (i32.store (i32.const 4096) (global.get $stack))
    (i32.store (i32.const 4100) (global.get $depth))
    (i64.store (i32.const 4104) (global.get $last))
    (position.set (i32.const 4112)))

  (func $now (result i64)
    ;; #if precise
    (call $host_now)
    ;; #end
    ;; #if ticker
    (i64.load $clock (i32.const 0))
    ;; #end
    ;; #if inline
    (local $now i64)
    (if (i32.eqz (position.get)) (then (call $init)))
    (local.set $now (i64.load (i32.const 0)))
    (if (i64.eqz (local.get $now)) (then (local.set $now (call $host_now))))
    (local.get $now)
    ;; #end
  )

  ;; Hands the block to the host, if anything is in it, and begins another. No call for the latter: it could be refused
  ;; (fuel, epochs), and the block would stand there with the header of the last one. The header's time is written last
  ;; but for the position: a host that reads meanwhile tells by it whether the block has begun.
  (func $flush (export "flush")
    (local $length i32)
    (local.set $length (i32.sub (position.get) (i32.const 4096)))
    (if (i32.gt_s (local.get $length) (i32.const 16))
      (then
        (call $host_flush (i32.const 4096) (local.get $length))
        (i32.store (i32.const 4096) (global.get $stack))
        (i32.store (i32.const 4100) (global.get $depth))
        (i64.store (i32.const 4104) (global.get $last))
        (position.set (i32.const 4112)))))

  ;; The rare half of every event: a full block, a clock that has moved (in the precise form: by more than a time word
  ;; can say). Answers where the caller's word goes. A clock that goes back stands still instead.
  (func $make_room (param $now i64) (result i32)
    (local $position i32) (local $delta i64)
    (local.set $position (position.get))
    (if (i32.gt_u (local.get $position) (global.get $last_start))
      (then
        (call $flush)
        (local.set $position (position.get))))
    (local.set $delta (i64.sub (local.get $now) (global.get $last)))
    (if (i64.gt_s (local.get $delta) (i64.const 0))
      (then
        (if (i64.lt_u (local.get $delta) (i64.const 0x40000000))
          (then
            (i32.store (local.get $position) (i32.or (i32.const 0x40000000) (i32.wrap_i64 (local.get $delta))))
            (local.set $position (i32.add (local.get $position) (i32.const 4))))
          (else
            ;; The tag last: in the inline form it publishes the two words.
            (i64.store offset=4 (local.get $position) (local.get $delta))
            (i32.store (local.get $position) (i32.const 0xe0000000))
            (local.set $position (i32.add (local.get $position) (i32.const 12)))))
        (global.set $last (local.get $now))
        (position.set (local.get $position))))
    (local.get $position))

  ;; Writes a word that is no enter or leave.
  (func $put (param $word i32)
    (local $position i32) (local $now i64)
    (local.set $now (call $now))
    ;; #if inline
    (if (i64.eq (local.get $now) (i64.const -1)) (then (return)))
    ;; #end
    (local.set $position (call $make_room (local.get $now)))
    (i32.store (local.get $position) (local.get $word))
    (position.set (i32.add (local.get $position) (i32.const 4))))

  (func $enter (export "enter") (param $func_id i32) (result i32)
    (local $position i32) (local $now i64) (local $delta i64)
    (local.set $now
      ;; #if ticker
      (i64.load $clock (i32.const 0))
      ;; #end
      ;; #if precise
      (call $host_now)
      ;; #end
      ;; #if inline
      (call $now)
      ;; #end
    )
    ;; #if inline
    (if (i64.eq (local.get $now) (i64.const -1)) (then (return (i32.const -1))))
    ;; #end
    (local.set $position (position.get))
    ;; #if ticker inline
    (if (i32.or
          (i64.ne (local.get $now) (global.get $last))
          (i32.gt_u (local.get $position) (global.get $last_start)))
      (then (local.set $position (call $make_room (local.get $now)))))
    (i32.store (local.get $position) (local.get $func_id))
    (position.set (i32.add (local.get $position) (i32.const 4)))
    ;; #else
    (local.set $delta (i64.sub (local.get $now) (global.get $last)))
    (if (i32.or
          (i64.ge_u (local.get $delta) (i64.const 0x40000000))
          (i32.gt_u (local.get $position) (global.get $last_start)))
      (then
        (local.set $position (call $make_room (local.get $now)))
        (local.set $delta (i64.const 0)))
      (else (global.set $last (local.get $now))))
    (i32.store (local.get $position) (i32.or (i32.const 0x40000000) (i32.wrap_i64 (local.get $delta))))
    (i32.store offset=4 (local.get $position) (local.get $func_id))
    (position.set (i32.add (local.get $position) (i32.const 8)))
    ;; #end
    (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
    (global.get $depth))

  (func $leave (export "leave") (param $token i32)
    (local $position i32) (local $now i64) (local $delta i64)
    (if (i32.or (i32.ne (local.get $token) (global.get $depth)) (i32.eqz (local.get $token)))
      (then (if (i32.eqz (call $heal (local.get $token))) (then (return)))))
    (local.set $now
      ;; #if ticker
      (i64.load $clock (i32.const 0))
      ;; #end
      ;; #if precise
      (call $host_now)
      ;; #end
      ;; #if inline
      (call $now)
      ;; #end
    )
    ;; #if inline
    (if (i64.eq (local.get $now) (i64.const -1)) (then (return)))
    ;; #end
    (local.set $position (position.get))
    ;; #if ticker inline
    (if (i32.or
          (i64.ne (local.get $now) (global.get $last))
          (i32.gt_u (local.get $position) (global.get $last_start)))
      (then (local.set $position (call $make_room (local.get $now)))))
    (i32.store (local.get $position) (i32.const 0x80000000))
    (position.set (i32.add (local.get $position) (i32.const 4)))
    ;; #else
    (local.set $delta (i64.sub (local.get $now) (global.get $last)))
    (if (i32.or
          (i64.ge_u (local.get $delta) (i64.const 0x40000000))
          (i32.gt_u (local.get $position) (global.get $last_start)))
      (then
        (local.set $position (call $make_room (local.get $now)))
        (local.set $delta (i64.const 0)))
      (else (global.set $last (local.get $now))))
    (i32.store (local.get $position) (i32.or (i32.const 0x40000000) (i32.wrap_i64 (local.get $delta))))
    (i32.store offset=4 (local.get $position) (i32.const 0x80000000))
    (position.set (i32.add (local.get $position) (i32.const 8)))
    ;; #end
    (global.set $depth (i32.sub (global.get $depth) (i32.const 1))))

  ;; A leave whose token is not the depth. Frames above it were unwound and nobody said so: they are closed first. A
  ;; token that was lost (0) means the innermost frame; one of a frame that is closed already means nothing.
  ;; Answers whether there is a frame to leave.
  (func $heal (param $token i32) (result i32)
    (if (i32.eqz (local.get $token)) (then (return (i32.ne (global.get $depth) (i32.const 0)))))
    (if (i32.gt_u (local.get $token) (global.get $depth)) (then (return (i32.const 0))))
    (call $close (i32.const 0) (local.get $token))
    (i32.const 1))

  ;; The frame with this token caught something: what is open above it was unwound.
  (func $unwind (export "unwind") (param $token i32)
    (if (i32.eq (local.get $token) (global.get $depth)) (then (return)))
    (if (i32.eqz (local.get $token)) (then (return)))
    (call $close (i32.const 0) (local.get $token)))

  ;; Closes the frames deeper than $depth for a reason (src/word.rs, Reason). Nothing happens if there are none.
  (func $close (export "close") (param $reason i32) (param $depth i32)
    (if (i32.ge_u (local.get $depth) (global.get $depth)) (then (return)))
    (call $put
      (i32.or
        (i32.const 0xc0000000)
        (i32.or
          (i32.shl (i32.and (local.get $reason) (i32.const 7)) (i32.const 26))
          (i32.and (local.get $depth) (i32.const 0x3ffffff)))))
    (global.set $depth (local.get $depth)))

  ;; From here on another of this lane's stacks runs (JSPI, asyncify, fibers). Beyond the 768 that fit: nothing happens.
  (func $switch (export "switch") (param $stack i32)
    (if (i32.eq (local.get $stack) (global.get $stack)) (then (return)))
    (if (i32.ge_u (local.get $stack) (i32.const 768)) (then (return)))
    (call $put (i32.or (i32.const 0xe4000000) (local.get $stack)))
    (i32.store offset=1024 (i32.shl (global.get $stack) (i32.const 2)) (global.get $depth))
    (global.set $depth (i32.load offset=1024 (i32.shl (local.get $stack) (i32.const 2))))
    (global.set $stack (local.get $stack)))

  (func $mark (export "mark") (param $value i32)
    (call $put (i32.or (i32.const 0xe8000000) (i32.and (local.get $value) (i32.const 0x3ffffff)))))

  (func (export "depth") (result i32) (global.get $depth))

  ;; #if inline
  ;; A function that is counted only (it calls nothing, doesn't loop and can't trap) was called: an enter and a leave at
  ;; once. It has no token, for nothing can happen between the two.
  (func $leaf (export "leaf") (param $func_id i32)
    (call $put (i32.add (local.get $func_id) (i32.const 0x80000001))))

  ;; A leave whose enter may not be written yet: its token is 0 then. Both are left out if it is while nothing is recorded.
  (func $leave_late (param $func_id i32) (param $token i32)
    (local $position i32)
    (if (i32.eqz (local.get $token))
      (then
        (if (i64.eq (i64.load (i32.const 0)) (i64.const -1)) (then (return)))
        (local.set $position (call $make_room (global.get $last)))
        (i32.store (local.get $position) (local.get $func_id))
        (global.set $depth (local.tee $token (i32.add (global.get $depth) (i32.const 1))))
        (position.set (i32.add (local.get $position) (i32.const 4)))))
    (call $leave (local.get $token)))

  ;; What stands inside functions: the usual case of an event, in which the clock hasn't moved and the block has room. The
  ;; rewriter copies these bodies (rewriter/src/template.rs): $id becomes the function's id, the others become locals of the
  ;; function. They are never called. All else is done by the functions above, and so is every event with a clock that is
  ;; asked by a call. A function that has no room for these locals calls them too.
  (func (export "inline.enter") (param $id i32) (param $token i32) (param $position i32)
    (block $done
      (block $slow
        (br_if $slow (i64.ne (i64.load (i32.const 0)) (global.get $last)))
        (br_if $slow (i32.gt_u (local.tee $position (global.get $position)) (global.get $last_start)))
        (i32.store (local.get $position) (local.get $id))
        (global.set $position (i32.add (local.get $position) (i32.const 4)))
        (global.set $depth (local.tee $token (i32.add (global.get $depth) (i32.const 1))))
        (br $done))
      ;; While nothing is recorded a frame has a token that leads its leave here, and out again, at once.
      (local.set $token (i32.const -1))
      (br_if $done (i64.eq (i64.load (i32.const 0)) (i64.const -1)))
      (local.set $token (call $enter (local.get $id)))))

  (func (export "inline.leave") (param $id i32) (param $token i32) (param $position i32)
    (block $done
      (block $slow
        (br_if $slow (i32.ne (local.get $token) (global.get $depth)))
        (br_if $slow (i64.ne (i64.load (i32.const 0)) (global.get $last)))
        (br_if $slow (i32.gt_u (local.tee $position (global.get $position)) (global.get $last_start)))
        (i32.store (local.get $position) (i32.const 0x80000000))
        (global.set $position (i32.add (local.get $position) (i32.const 4)))
        (global.set $depth (i32.sub (local.get $token) (i32.const 1)))
        (br $done))
      (br_if $done (i32.eq (local.get $token) (i32.const -1)))
      (call $leave (local.get $token))))

  ;; In a function that calls nothing and doesn't loop nothing is written between the two. If the clock hasn't moved either,
  ;; the leave makes one word of both: half of the memory that a block takes. $position is where the enter's word is.
  (func (export "inline.enter.leaf") (param $id i32) (param $token i32) (param $position i32)
    (block $done
      (block $slow
        (br_if $slow (i64.ne (i64.load (i32.const 0)) (global.get $last)))
        (br_if $slow (i32.gt_u (local.tee $position (global.get $position)) (global.get $last_start)))
        (i32.store (local.get $position) (local.get $id))
        (global.set $position (i32.add (local.get $position) (i32.const 4)))
        (global.set $depth (local.tee $token (i32.add (global.get $depth) (i32.const 1))))
        (br $done))
      (local.set $token (i32.const -1))
      (br_if $done (i64.eq (i64.load (i32.const 0)) (i64.const -1)))
      (local.set $token (call $enter (local.get $id)))
      (local.set $position (i32.sub (global.get $position) (i32.const 4)))))

  (func (export "inline.leave.leaf") (param $id i32) (param $token i32) (param $position i32)
    (block $done
      (br_if $done (i32.eq (local.get $token) (i32.const -1)))
      (block $slow
        (br_if $slow (i64.ne (i64.load (i32.const 0)) (global.get $last)))
        (i32.store (local.get $position) (i32.add (local.get $id) (i32.const 0x80000001)))
        (global.set $depth (i32.sub (local.get $token) (i32.const 1)))
        (br $done))
      (call $leave (local.get $token))))

  ;; In a function in which nothing can happen, not even a trap, the enter only looks at the clock. If that is the same at the
  ;; leave, one word says all; if not, the enter is written then, at the time of the last word. $token is 0 until it is.
  (func (export "inline.enter.trapless") (param $id i32) (param $token i32) (param $position i32)
    (block $done
      (br_if $done (i64.eq (i64.load (i32.const 0)) (global.get $last)))
      (local.set $token (i32.const -1))
      (br_if $done (i64.eq (i64.load (i32.const 0)) (i64.const -1)))
      (local.set $token (call $enter (local.get $id)))))

  (func (export "inline.leave.trapless") (param $id i32) (param $token i32) (param $position i32)
    (block $done
      (block $slow
        (br_if $slow (local.get $token))
        (br_if $slow (i64.ne (i64.load (i32.const 0)) (global.get $last)))
        (br_if $slow (i32.gt_u (local.tee $position (global.get $position)) (global.get $last_start)))
        (i32.store (local.get $position) (i32.add (local.get $id) (i32.const 0x80000001)))
        (global.set $position (i32.add (local.get $position) (i32.const 4)))
        (br $done))
      (br_if $done (i32.eq (local.get $token) (i32.const -1)))
      (call $leave_late (local.get $id) (local.get $token))))

  (func (export "inline.leaf") (param $id i32) (param $position i32)
    (block $done
      (block $slow
        (br_if $slow (i64.ne (i64.load (i32.const 0)) (global.get $last)))
        (br_if $slow (i32.gt_u (local.tee $position (global.get $position)) (global.get $last_start)))
        (i32.store (local.get $position) (i32.add (local.get $id) (i32.const 0x80000001)))
        (global.set $position (i32.add (local.get $position) (i32.const 4)))
        (br $done))
      (br_if $done (i64.eq (i64.load (i32.const 0)) (i64.const -1)))
      (call $leaf (local.get $id))))

  (func (export "inline.unwind") (param $id i32) (param $token i32) (param $position i32)
    (if (i32.ne (local.get $token) (global.get $depth)) (then (call $unwind (local.get $token)))))
  ;; #end
)
