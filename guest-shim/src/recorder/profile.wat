;; The recorder of `--record profile --stack shadow`. The rewriter puts it into a module, which then counts its calls and can
;; be sampled.
;;
;; It needs no clock and no block. Each open call has a slot of eight bytes in a stack of our own, the shadow stack, and each
;; function has a count of its calls. A thread of the host reads the stack now and then. src/shadow.rs has the layout. Three
;; modules are made from this file. They differ between `;; #if FORM..`, `;; #else` and `;; #end`:
;;
;;   profile   The lower half of a slot is the function's id plus one.
;;   spans     The upper half is also the number of the call: the lower half of the count. So two samples can tell whether
;;             they see the same call.
;;   component   As spans, but it stands beside the core modules of a component, which import it as they import the recorder of a
;;             trace. Its memory is imported and not shared, because canonical options take no shared one.
;;
;; Slots above the innermost open call are always free: their lower half is 0. A leave frees its own slot. Whoever catches
;; frees the slots that were unwound. So an enter needs one store to the stack, and a reader finds the top by itself. If the
;; stack is full, further calls share the last slot: then a sample has only the outer part of the path, but that is right.
;;
;; The time of a function's own code must be seen as the function's:
;;   - The slot is written first, and waits for nothing. The number comes later, into its upper half.
;;   - The count is written after the slot. A compiler drops a store that the next store always overwrites, and in a small
;;     function that calls nothing that would be the store to the slot.
;;   - A leave stores a part of the function's result, into the half of the slot that has no meaning then. A compiler moves
;;     code to where its result is needed; without this store, all code of a small function would move behind the leave.
(module $kperf_profile
  ;; #if component
  (import "kperf:host" "attach-profile"
    (func $host_attach (param $address i32) (param $length i32) (param $first i32) (param $functions i32)))
  ;; The rewriter makes it as large as the counts need.
  (import "kperf:host" "memory" (memory $shadow 17))
  ;; The id of the function that has the first count, and the number of counts.
  (import "kperf:host" "state.id_base" (global $id_base i32))
  (import "kperf:host" "state.functions" (global $functions i32))
  ;; #else
  (import "kperf:host" "flush" (func $host_flush (param $address i32) (param $length i32)))
  ;; The rewriter makes it as large as the counts need.
  (memory $shadow (export "memory") 17 17 shared)
  ;; #end

  ;; Address of the slot that the next call takes.
  (global $top (export "state.top") (mut i32) (i32.const 64))
  ;; #if component
  ;; What the functions around those that are lifted want of a recorder. Nothing is handed over, so nothing need be held back.
  (global (export "hold") (mut i32) (i32.const 0))
  (global (export "returned") (mut i32) (i32.const 0))
  (func (export "look"))

  ;; Tells the host that this recorder exists, before any of the component's code runs.
  (start $start)
  (func $start
    (call $host_attach
      (i32.const 0) (i32.shl (memory.size) (i32.const 16)) (global.get $id_base) (global.get $functions)))
  ;; #else
  ;; The id of the function that has the first count, and the number of counts. The rewriter sets them.
  (global $id_base (export "state.id_base") i32 (i32.const 0))
  (global $functions (export "state.functions") i32 (i32.const 0))

  ;; Tells the host that this instance exists, before any of its code runs. The rewriter makes this the start function, and adds
  ;; a call of the module's own start function.
  (func $start (export "start")
    (call $host_flush (i32.const 64) (i32.const 0)))
  ;; #end

  ;; #if component
  ;; A token is the address of a slot.
  (func $enter (export "enter") (param $id i32) (result i32)
    (local $frame i32) (local $count i32)
    (local.set $count
      (i32.add
        (i32.const 1048576)
        (i32.shl (i32.sub (local.get $id) (global.get $id_base)) (i32.const 3))))
  ;; #else
  ;; These three are for functions that have no room for the code below.
  (func $enter (export "enter") (param $id i32) (param $count i32) (result i32)
    (local $frame i32)
  ;; #end
    (i64.store
      (local.tee $frame (global.get $top))
      (i64.extend_i32_u (i32.add (local.get $id) (i32.const 1))))
    (i64.store (local.get $count) (i64.add (i64.load (local.get $count)) (i64.const 1)))
    ;; #if spans component
    (i32.store offset=4 (local.get $frame) (i32.load (local.get $count)))
    ;; #end
    (global.set $top (call $above (local.get $frame)))
    (local.get $frame))

  (func $leave (export "leave") (param $frame i32)
    ;; #if component
    ;; The calls above it were unwound without a word.
    (if (i32.load offset=8 (local.get $frame)) (then (call $unwind (local.get $frame))))
    ;; #end
    (i64.store (local.get $frame) (i64.const 0))
    (global.set $top (local.get $frame)))

  ;; The call in this slot caught something: the calls above it are gone. Slots are freed from below, so that a reader sees no
  ;; call whose caller is gone.
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

  ;; #if component
  ;; For functions without a probe that may catch: how many calls are open, and the end of those that are deeper. Calls for which
  ;; the stack has no room have the depth of the last slot.
  (func (export "depth") (result i32)
    (i32.shr_u (i32.sub (global.get $top) (i32.const 64)) (i32.const 3)))

  (func (export "close") (param $reason i32) (param $depth i32)
    (if (i32.lt_u (local.get $depth) (i32.const 131063))
      (then (call $unwind (i32.add (i32.const 56) (i32.shl (local.get $depth) (i32.const 3)))))))
  ;; #end

  ;; The slot above this one; above the last slot it is the last slot itself.
  (func $above (param $frame i32) (result i32)
    (select
      (i32.add (local.get $frame) (i32.const 8))
      (i32.const 1048560)
      (i32.lt_u (local.get $frame) (i32.const 1048560))))

  ;; #if profile spans
  ;; The code inside functions. The rewriter copies these bodies (rewriter/src/instrument/template.rs): $id becomes the function's id,
  ;; $count the address of its count, $returned a word whose lower half is 0, and the others locals of the function. Nothing
  ;; calls them.
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

  ;; For a function that calls nothing and doesn't loop: no call needs the next slot, so the top stays. The function can't be
  ;; slow, so its slot needs no number.
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

  ;; For a function without a probe that may catch: it keeps the address of the slot that its first call takes. A lost local is
  ;; 0, and at address 0 is nothing to free.
  (func (export "inline.here") (param $id i32) (param $count i32) (param $returned i64) (param $frame i32)
    (local.set $frame (global.get $top)))

  (func (export "inline.back") (param $id i32) (param $count i32) (param $returned i64) (param $frame i32)
    (if (i32.load (local.get $frame))
      (then (call $unwind (i32.sub (local.get $frame) (i32.const 8))))))
  ;; #end
)
