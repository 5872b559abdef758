;; Reads the open calls of a profiled instance from its shadow stack (guest-shim/src/recorder/profile.wat). host-runtime/wasmtime/src/profile/shadow.rs
;; does the same, and explains why this is correct. Loads are atomic, so that no compiler merges two loads of a slot.
;;
;; The path goes to one half of our own memory. The other half has the last complete path.
(module $kperf_look
  (import "js" "memory" (memory $guest 17 65536 shared))
  (memory $own (export "memory") 32 32)
  ;; The path's address, the outermost call first; its number of calls; and how many of these are the last path's.
  (global $path (export "path") (mut i32) (i32.const 0))
  (global $depth (export "depth") (mut i32) (i32.const 0))
  (global $same (export "same") (mut i32) (i32.const 0))

  ;; Reads the path. Returns 0 if the stack changed at each try.
  (func (export "look") (result i32)
    (local $tries i32) (local $next i32) (local $depth i32) (local $found i32) (local $same i32) (local $pause i32)
    (local.set $next (i32.xor (global.get $path) (i32.const 0x100000)))
    (local.set $depth (global.get $depth))
    (local.set $tries (i32.const 8))
    (block $seen
      (loop $again
        (local.set $found (call $look_near (local.get $depth) (local.get $next)))
        (br_if $seen (i32.ge_s (local.get $found) (i32.const 0)))
        (local.set $depth (call $find))
        (local.set $pause (i32.const 1000))
        (loop $turn (br_if $turn (local.tee $pause (i32.sub (local.get $pause) (i32.const 1)))))
        (br_if $again (local.tee $tries (i32.sub (local.get $tries) (i32.const 1)))))
      (return (i32.const 0)))
    (block $differs
      (loop $more
        (br_if $differs (i32.ge_u (local.get $same) (local.get $found)))
        (br_if $differs (i32.ge_u (local.get $same) (global.get $depth)))
        (br_if $differs
          (i64.ne
            (i64.load $own (i32.add (local.get $next) (i32.shl (local.get $same) (i32.const 3))))
            (i64.load $own (i32.add (global.get $path) (i32.shl (local.get $same) (i32.const 3))))))
        (local.set $same (i32.add (local.get $same) (i32.const 1)))
        (br $more)))
    (global.set $path (local.get $next))
    (global.set $depth (local.get $found))
    (global.set $same (local.get $same))
    (i32.const 1))

  ;; The number of calls that seem to be open.
  (func $find (result i32)
    (local $at i32)
    (local.set $at (i32.const 64))
    (block $free
      (loop $next
        (br_if $free (i32.ge_u (local.get $at) (i32.const 0x100000)))
        (br_if $free (i32.eqz (i32.atomic.load (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $next)))
    (i32.shr_u (i32.sub (local.get $at) (i32.const 64)) (i32.const 3)))

  ;; Reads the open calls to $to. Returns their number, or -1 if the stack changed or the number isn't near $depth.
  (func $look_near (param $depth i32) (param $to i32) (result i32)
    (local $first i32) (local $end i32) (local $seen i32)
    ;; Two lines around $depth, of 0x3fff.
    (local.set $depth (i32.shr_u (i32.add (local.get $depth) (i32.const 4)) (i32.const 3)))
    (if (local.get $depth) (then (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))))
    (if (i32.gt_u (local.get $depth) (i32.const 0x3ffd)) (then (local.set $depth (i32.const 0x3ffd))))
    (local.set $first (i32.add (i32.shl (local.get $depth) (i32.const 6)) (i32.const 64)))
    (local.set $end (i32.add (local.get $first) (i32.const 128)))
    (local.set $seen (i32.add (local.get $to) (i32.shl (local.get $depth) (i32.const 6))))
    ;; Unwinding frees the outermost slots first, so deeper calls are after a free slot.
    (if (i32.eqz (call $read (i32.const 64) (local.get $first) (local.get $to))) (then (return (i32.const -1))))
    (drop (call $read (local.get $first) (local.get $end) (local.get $seen)))
    (if (i32.eqz (call $is_still (local.get $first) (local.get $end) (local.get $seen))) (then (return (i32.const -1))))
    (if (i32.eqz (call $is_still (i32.const 64) (local.get $first) (local.get $to))) (then (return (i32.const -1))))
    ;; The innermost call must be in these lines, unless there is none.
    (if (i32.and (i32.ne (local.get $depth) (i32.const 0)) (i32.eqz (i32.load $own (local.get $seen))))
      (then (return (i32.const -1))))
    (local.set $end (i32.add (local.get $seen) (i32.const 128)))
    (loop $next
      (if (i32.eqz (i32.load $own (local.get $seen)))
        (then (return (i32.shr_u (i32.sub (local.get $seen) (local.get $to)) (i32.const 3)))))
      (br_if $next (i32.lt_u (local.tee $seen (i32.add (local.get $seen) (i32.const 8))) (local.get $end))))
    (i32.const -1))

  ;; Copies slots. Returns whether none is free.
  (func $read (param $at i32) (param $end i32) (param $to i32) (result i32)
    (local $slot i64) (local $full i32)
    (local.set $full (i32.const 1))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (i64.store $own (local.get $to) (local.tee $slot (i64.atomic.load (local.get $at))))
        (if (i32.eqz (i32.wrap_i64 (local.get $slot))) (then (local.set $full (i32.const 0))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (local.set $to (i32.add (local.get $to) (i32.const 8)))
        (br $next)))
    (local.get $full))

  ;; Whether slots are unchanged.
  (func $is_still (param $at i32) (param $end i32) (param $as i32) (result i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (if (i64.ne (i64.atomic.load (local.get $at)) (i64.load $own (local.get $as))) (then (return (i32.const 0))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (local.set $as (i32.add (local.get $as) (i32.const 8)))
        (br $next)))
    (i32.const 1)))
