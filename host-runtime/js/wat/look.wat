;; What a sampler looks with: finds out which calls of an instance are open that makes a profile (guest-shim/profile.wat).
;;
;; The guest enters and leaves some calls in each nanosecond in which it is looked at, and goes on meanwhile. What makes a look
;; right is that the last line of the stack is read at once: eight loads from a line that this processor has just got take
;; less time than the guest's next write to it. The lines below it are then read again: if they haven't changed, they were
;; so at that moment too. The loads are atomic ones, so that no compiler takes the second for the first.
;;
;; The path goes to the one half of our own memory, beside that of the last look that was whole in the other.
(module $kperf_look
  (import "js" "memory" (memory $guest 17 65536 shared))
  (memory $own (export "memory") 32 32)
  ;; Where the path is, the outermost call first; how many calls it has, and how many of these are the last path's.
  (global $path (export "path") (mut i32) (i32.const 0))
  (global $depth (export "depth") (mut i32) (i32.const 0))
  (global $same (export "same") (mut i32) (i32.const 0))

  ;; Looks; answers whether it found out. The stack may change as often as it is looked at.
  (func (export "look") (result i32)
    (local $tries i32) (local $next i32) (local $depth i32) (local $same i32)
    (local.set $next (i32.xor (global.get $path) (i32.const 0x100000)))
    (local.set $tries (i32.const 8))
    (block $seen
      (loop $again
        (local.set $depth (call $look_once (local.get $next)))
        (br_if $seen (i32.ge_s (local.get $depth) (i32.const 0)))
        (br_if $again (local.tee $tries (i32.sub (local.get $tries) (i32.const 1)))))
      (return (i32.const 0)))
    (block $differs
      (loop $more
        (br_if $differs (i32.ge_u (local.get $same) (local.get $depth)))
        (br_if $differs (i32.ge_u (local.get $same) (global.get $depth)))
        (br_if $differs
          (i64.ne
            (i64.load $own (i32.add (local.get $next) (i32.shl (local.get $same) (i32.const 3))))
            (i64.load $own (i32.add (global.get $path) (i32.shl (local.get $same) (i32.const 3))))))
        (local.set $same (i32.add (local.get $same) (i32.const 1)))
        (br $more)))
    (global.set $path (local.get $next))
    (global.set $depth (local.get $depth))
    (global.set $same (local.get $same))
    (i32.const 1))

  ;; How many calls are open, or -1 if that changed. They go to $to.
  (func $look_once (param $to i32) (result i32)
    (local $at i32) (local $free i32) (local $below i32)
    (local $0 i64) (local $1 i64) (local $2 i64) (local $3 i64) (local $4 i64) (local $5 i64) (local $6 i64) (local $7 i64)
    (local.set $at (i32.const 64))
    (local.set $below (local.get $to))
    (block $found
      (loop $line
        ;; Not even the last slot was free.
        (if (i32.ge_u (local.get $at) (i32.const 0x100000)) (then (return (i32.const -1))))
        (local.set $0 (i64.atomic.load (local.get $at)))
        (local.set $1 (i64.atomic.load offset=8 (local.get $at)))
        (local.set $2 (i64.atomic.load offset=16 (local.get $at)))
        (local.set $3 (i64.atomic.load offset=24 (local.get $at)))
        (local.set $4 (i64.atomic.load offset=32 (local.get $at)))
        (local.set $5 (i64.atomic.load offset=40 (local.get $at)))
        (local.set $6 (i64.atomic.load offset=48 (local.get $at)))
        (local.set $7 (i64.atomic.load offset=56 (local.get $at)))
        ;; Did the line stay with us?
        (if
          (i32.or
            (i32.or
              (i32.or
                (i64.ne (local.get $0) (i64.atomic.load (local.get $at)))
                (i64.ne (local.get $1) (i64.atomic.load offset=8 (local.get $at))))
              (i32.or
                (i64.ne (local.get $2) (i64.atomic.load offset=16 (local.get $at)))
                (i64.ne (local.get $3) (i64.atomic.load offset=24 (local.get $at)))))
            (i32.or
              (i32.or
                (i64.ne (local.get $4) (i64.atomic.load offset=32 (local.get $at)))
                (i64.ne (local.get $5) (i64.atomic.load offset=40 (local.get $at))))
              (i32.or
                (i64.ne (local.get $6) (i64.atomic.load offset=48 (local.get $at)))
                (i64.ne (local.get $7) (i64.atomic.load offset=56 (local.get $at))))))
          (then (return (i32.const -1))))
        (i64.store $own (local.get $to) (local.get $0))
        (i64.store $own offset=8 (local.get $to) (local.get $1))
        (i64.store $own offset=16 (local.get $to) (local.get $2))
        (i64.store $own offset=24 (local.get $to) (local.get $3))
        (i64.store $own offset=32 (local.get $to) (local.get $4))
        (i64.store $own offset=40 (local.get $to) (local.get $5))
        (i64.store $own offset=48 (local.get $to) (local.get $6))
        (i64.store $own offset=56 (local.get $to) (local.get $7))
        (local.set $free (i32.const 0))
        (br_if $found (i64.eqz (local.get $0)))
        (local.set $free (i32.const 1))
        (br_if $found (i64.eqz (local.get $1)))
        (local.set $free (i32.const 2))
        (br_if $found (i64.eqz (local.get $2)))
        (local.set $free (i32.const 3))
        (br_if $found (i64.eqz (local.get $3)))
        (local.set $free (i32.const 4))
        (br_if $found (i64.eqz (local.get $4)))
        (local.set $free (i32.const 5))
        (br_if $found (i64.eqz (local.get $5)))
        (local.set $free (i32.const 6))
        (br_if $found (i64.eqz (local.get $6)))
        (local.set $free (i32.const 7))
        (br_if $found (i64.eqz (local.get $7)))
        (local.set $at (i32.add (local.get $at) (i32.const 64)))
        (local.set $to (i32.add (local.get $to) (i32.const 64)))
        (br $line)))
    ;; The lines below.
    (local.set $to (i32.const 64))
    (block $whole
      (loop $more
        (br_if $whole (i32.ge_u (local.get $to) (local.get $at)))
        (if (i64.ne (i64.atomic.load (local.get $to)) (i64.load $own (local.get $below))) (then (return (i32.const -1))))
        (local.set $to (i32.add (local.get $to) (i32.const 8)))
        (local.set $below (i32.add (local.get $below) (i32.const 8)))
        (br $more)))
    (i32.add (i32.shr_u (i32.sub (local.get $at) (i32.const 64)) (i32.const 3)) (local.get $free))))
