;; The recorder of `--record profile`: what the rewriter puts into a module that counts its calls and can be sampled.
;;
;; It needs no clock and no block. Each open call has a slot of eight bytes in a stack of its own (the shadow stack), which
;; a thread of the host looks at now and then; each function has a count of its calls. src/shadow.rs says where they lie.
;; Two modules are made from this file, which differ between `;; #if FORM..`, `;; #else` and `;; #end`:
;;
;;   profile   a slot is the function's id and one more
;;   spans     above that it has the number of the call, the lower half of the count, so that who looks twice can tell
;;             whether it is still the same call
;;
;; Slots above the innermost open call are free, always: their lower half is 0. A leave frees its own, and what is unwound is
;; freed by whoever catches. So an enter is one store to the stack, and a reader finds the top without being told where it is.
;; A call that finds the stack full shares the last slot with those above it: the path that is seen is cut there, and its outer
;; part right.
;;
;; What stands inside a function shall have its time:
;;   - The slot is written first, and waits for nothing. The number comes later, into its upper half.
;;   - The count is written behind the slot: compilers leave a store out that is overwritten by the next one in all cases, and
;;     in a small function that calls nothing that would be the slot's.
;;   - A leave stores a part of what the function returns, into the half that says nothing then. Compilers put off what they
;;     compute until it is wanted: behind a leave that didn't want it, all that a small function does.
(module $kperf_profile
  (import "kperf:host" "flush" (func $host_flush (param $address i32) (param $length i32)))
  ;; The rewriter makes it as large as the counts need.
  (memory $shadow (export "memory") 17 17 shared)

  ;; Address of the slot that the next call takes.
  (global $top (export "state.top") (mut i32) (i32.const 64))
  ;; The function whose count is the first, and how many have one. The rewriter sets them.
  (global $id_base (export "state.id_base") i32 (i32.const 0))
  (global $functions (export "state.functions") i32 (i32.const 0))

  ;; Tells the host of this instance, before anything else of it runs: the rewriter makes it the start function, which calls
  ;; the module's own behind it.
  (func $start (export "start")
    (call $host_flush (i32.const 64) (i32.const 0)))

  ;; These three are for functions that have no room for the code below.
  (func $enter (export "enter") (param $id i32) (param $count i32) (result i32)
    (local $frame i32)
    (i64.store
      (local.tee $frame (global.get $top))
      (i64.extend_i32_u (i32.add (local.get $id) (i32.const 1))))
    (i64.store (local.get $count) (i64.add (i64.load (local.get $count)) (i64.const 1)))
    ;; #if spans
    (i32.store offset=4 (local.get $frame) (i32.load (local.get $count)))
    ;; #end
    (global.set $top (call $above (local.get $frame)))
    (local.get $frame))

  (func $leave (export "leave") (param $frame i32)
    (i64.store (local.get $frame) (i64.const 0))
    (global.set $top (local.get $frame)))

  ;; The call in this slot caught something: what is above it is gone. From below, so that a reader sees no call whose
  ;; caller has gone.
  (func $unwind (export "unwind") (param $frame i32)
    (local $slot i32)
    (local.set $slot (i32.add (local.get $frame) (i32.const 8)))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (i32.load (local.get $slot))))
        (i64.store (local.get $slot) (i64.const 0))
        (local.set $slot (i32.add (local.get $slot) (i32.const 8)))
        (br $next)))
    (global.set $top (call $above (local.get $frame))))

  ;; The slot above one; the last is its own.
  (func $above (param $frame i32) (result i32)
    (select
      (i32.add (local.get $frame) (i32.const 8))
      (i32.const 1048560)
      (i32.lt_u (local.get $frame) (i32.const 1048560))))

  ;; What stands inside functions. The rewriter copies these bodies (rewriter/src/template.rs): $id becomes the function's id,
  ;; $count the address of its count and $returned a word whose lower half is 0, the others become locals of the function. They
  ;; are never called.
  (func (export "inline.enter") (param $id i32) (param $count i32) (param $returned i64) (param $frame i32)
    (i64.store
      (local.tee $frame (global.get $top))
      (i64.extend_i32_u (i32.add (local.get $id) (i32.const 1))))
    (i64.store (local.get $count) (i64.add (i64.load (local.get $count)) (i64.const 1)))
    ;; #if spans
    (i32.store offset=4 (local.get $frame) (i32.load (local.get $count)))
    ;; #end
    (global.set $top
      (select
        (i32.add (local.get $frame) (i32.const 8))
        (i32.const 1048560)
        (i32.lt_u (local.get $frame) (i32.const 1048560)))))

  ;; A function that calls nothing needs not say where the next call's slot is. It has no loop either, so it can't be slow,
  ;; and its slot needs no number.
  (func (export "inline.enter.leaf") (param $id i32) (param $count i32) (param $returned i64) (param $frame i32)
    (i64.store
      (local.tee $frame (global.get $top))
      (i64.extend_i32_u (i32.add (local.get $id) (i32.const 1))))
    (i64.store (local.get $count) (i64.add (i64.load (local.get $count)) (i64.const 1))))

  (func (export "inline.leave") (param $id i32) (param $count i32) (param $returned i64) (param $frame i32)
    (i64.store (local.get $frame) (local.get $returned))
    (global.set $top (local.get $frame)))

  (func (export "inline.leave.leaf") (param $id i32) (param $count i32) (param $returned i64) (param $frame i32)
    (i64.store (local.get $frame) (local.get $returned)))

  (func (export "inline.unwind") (param $id i32) (param $count i32) (param $returned i64) (param $frame i32)
    (if (i32.load offset=8 (local.get $frame))
      (then (call $unwind (local.get $frame)))))
)
