;; A part of recorder.wat: the code inside functions, and what only that code calls.
;;
;; The rewriter copies the bodies of the `inline.*` functions (rewriter/src/instrument/template.rs): $id becomes the function's id, the others
;; become locals of the function. Nothing calls them. They handle the usual event: the clock hasn't moved and the block has room.
;; The recorder's functions handle all other events, and every event of a clock that takes a call. A function without room for
;; these locals calls the recorder's functions too.
;;
;; $token has the frame's token in its upper half, and 0 in the lower. If the token is the depth, $head less $token is the position.
;; If it isn't, that is more than any limit. So one comparison of a leave tells both. While recording is switched off, the token is -1:
;; the leave sees it and does nothing.
;;
;; What is rare ends with a branch that is always taken, and whose hint says that it isn't. The hint makes its target rare too: else
;; wasmtime puts moves of registers that belong to the rare code among the usual code, and a jump over them.

  ;; #if inline instructions
  ;; A function that is counted only was called: one word for the enter and the leave. It needs no token, because nothing can
  ;; happen in between: the function calls nothing, doesn't loop and can't trap.
  (func $leaf (export "leaf") (param $func_id i32)
    (call $put (i32.add (local.get $func_id) (i32.const 0x80000001))))

  ;; Enter and leave with a token as it is inside functions.
  (func $enter_inside (param $func_id i32) (result i64)
    (i64.shl (i64.extend_i32_u (call $enter (local.get $func_id))) (i64.const 32)))

  (func $leave_inside (param $token i64)
    (call $leave (i32.wrap_i64 (i64.shr_u (local.get $token) (i64.const 32)))))
  ;; #end

  ;; #if inline
  ;; A leave whose enter may not be written yet; its token is 0 then. If recording is switched off, neither is written.
  (func $leave_late (param $func_id i32) (param $token i64)
    (local $position i32)
    (if (i64.ne (local.get $token) (i64.const 0)) (then (call $leave_inside (local.get $token)) (return)))
    (if (i64.eq (i64.load (i32.const 0)) (i64.const -1)) (then (return)))
    (local.set $position (call $make_room (global.get $last)))
    (i32.store (local.get $position) (local.get $func_id))
    (depth.set (i32.add (depth.get) (i32.const 1)))
    (position.set (i32.add (local.get $position) (i32.const 4)))
    (call $leave (depth.get)))

  (func (export "inline.enter") (param $id i32) (param $token i64) (param $head i64) (param $at i64)
    (block $done
      (block $slow
        (@metadata.code.branch_hint "\00") (br_if $slow (i32.ge_u (i32.wrap_i64 (local.tee $head (global.get $head))) (i32.load (i32.const 8))))
        (i32.store (i32.wrap_i64 (local.get $head)) (local.get $id))
        (global.set $head (local.tee $head (i64.add (local.get $head) (i64.const 0x1_0000_0004))))
        (local.set $token (i64.and (local.get $head) (i64.const 0xffff_ffff_0000_0000)))
        (br $done))
      (local.set $token (i64.const 0xffff_ffff_0000_0000))
      (@metadata.code.branch_hint "\00") (if $rare (i64.ne (i64.load (i32.const 0)) (i64.const -1))
        (then
          (local.set $token (call $enter_inside (local.get $id)))
          (@metadata.code.branch_hint "\00") (br_if $rare (i32.const 1))
          (unreachable)))))

  (func (export "inline.leave") (param $id i32) (param $token i64) (param $head i64) (param $at i64)
    (block $done
      (block $slow
        (@metadata.code.branch_hint "\00") (br_if $slow
          (i64.ge_u
            (local.tee $at (i64.sub (local.tee $head (global.get $head)) (local.get $token)))
            (i64.load32_u (i32.const 8))))
        (i32.store (i32.wrap_i64 (local.get $at)) (i32.const 0x80000000))
        (global.set $head (i64.sub (local.get $head) (i64.const 0xffff_fffc)))
        (br $done))
      (@metadata.code.branch_hint "\01") (br_if $done (i64.lt_s (local.get $token) (i64.const 0)))
      (call $leave_inside (local.get $token))))

  ;; For a function that calls nothing and doesn't loop: no word comes between its enter and its leave. If the clock hasn't moved
  ;; either, the leave turns the enter's word into a leaf, one word for both. $head is as it was before the enter; -1 while
  ;; nothing is recorded.
  (func (export "inline.enter.leaf") (param $id i32) (param $token i64) (param $head i64) (param $at i64)
    (block $done
      (block $slow
        (@metadata.code.branch_hint "\00") (br_if $slow (i32.ge_u (i32.wrap_i64 (local.tee $head (global.get $head))) (i32.load (i32.const 8))))
        (i32.store (i32.wrap_i64 (local.get $head)) (local.get $id))
        (global.set $head (i64.add (local.get $head) (i64.const 0x1_0000_0004)))
        (br $done))
      (local.set $head (i64.const -1))
      (@metadata.code.branch_hint "\00") (if $rare (i64.ne (i64.load (i32.const 0)) (i64.const -1))
        (then
          ;; It may have been switched off meanwhile.
          (local.set $head
            (i64.or
              (i64.sub (i64.const 0) (i64.extend_i32_u (i32.eq (call $enter (local.get $id)) (i32.const -1))))
              (i64.sub (global.get $head) (i64.const 0x1_0000_0004))))
          (@metadata.code.branch_hint "\00") (br_if $rare (i32.const 1))
          (unreachable)))))

  (func (export "inline.leave.leaf") (param $id i32) (param $token i64) (param $head i64) (param $at i64)
    (block $done
      (br_if $done (i64.eq (local.get $head) (i64.const -1)))
      (block $slow
        (@metadata.code.branch_hint "\00") (br_if $slow (i32.eqz (i32.load (i32.const 8))))
        (i32.store (i32.wrap_i64 (local.get $head)) (i32.add (local.get $id) (i32.const 0x80000001)))
        (global.set $head (i64.add (local.get $head) (i64.const 4)))
        (br $done))
      (call $leave (i32.add (i32.wrap_i64 (i64.shr_u (local.get $head) (i64.const 32))) (i32.const 1)))))

  ;; For a function that can't trap either: the enter only looks at the clock. If the clock hasn't moved at the leave, one word
  ;; is written for both. If it has, the leave writes the enter first, with the time of the last word; $token is 0 until then.
  (func (export "inline.enter.trapless") (param $id i32) (param $token i64) (param $head i64) (param $at i64)
    (block $done
      (@metadata.code.branch_hint "\01") (br_if $done (i32.load (i32.const 8)))
      (local.set $token (i64.const 0xffff_ffff_0000_0000))
      (@metadata.code.branch_hint "\00") (if $rare (i64.ne (i64.load (i32.const 0)) (i64.const -1))
        (then
          (local.set $token (call $enter_inside (local.get $id)))
          (@metadata.code.branch_hint "\00") (br_if $rare (i32.const 1))
          (unreachable)))))

  (func (export "inline.leave.trapless") (param $id i32) (param $token i64) (param $head i64) (param $at i64)
    (block $done
      (block $slow
        (@metadata.code.branch_hint "\00") (br_if $slow (i64.ne (local.get $token) (i64.const 0)))
        (@metadata.code.branch_hint "\00") (br_if $slow (i32.ge_u (i32.wrap_i64 (local.tee $head (global.get $head))) (i32.load (i32.const 8))))
        (i32.store (i32.wrap_i64 (local.get $head)) (i32.add (local.get $id) (i32.const 0x80000001)))
        (global.set $head (i64.add (local.get $head) (i64.const 4)))
        (br $done))
      (@metadata.code.branch_hint "\01") (br_if $done (i64.lt_s (local.get $token) (i64.const 0)))
      (call $leave_late (local.get $id) (local.get $token))))

  (func (export "inline.leaf") (param $id i32) (param $head i64)
    (block $done
      (block $slow
        (@metadata.code.branch_hint "\00") (br_if $slow (i32.ge_u (i32.wrap_i64 (local.tee $head (global.get $head))) (i32.load (i32.const 8))))
        (i32.store (i32.wrap_i64 (local.get $head)) (i32.add (local.get $id) (i32.const 0x80000001)))
        (global.set $head (i64.add (local.get $head) (i64.const 4)))
        (br $done))
      (@metadata.code.branch_hint "\01") (br_if $done (i64.eq (i64.load (i32.const 0)) (i64.const -1)))
      (call $leaf (local.get $id))))
  ;; #end

  ;; #if instructions
  ;; What stands inside functions, as above: the usual case of an event, whose two words are stored at once.
  (func (export "inline.enter") (param $id i32) (param $token i64) (param $head i64) (param $at i64) (param $delta i64)
    (block $done
      (block $slow
        (@metadata.code.branch_hint "\00") (br_if $slow
          (i64.ge_u
            (local.tee $delta (i64.sub (global.get $instructions) (global.get $last)))
            (i64.const 0x40000000)))
        (@metadata.code.branch_hint "\00") (br_if $slow (i32.ge_u (i32.wrap_i64 (local.tee $head (global.get $head))) (i32.load (i32.const 8))))
        (i64.store (i32.wrap_i64 (local.get $head))
          (i64.or
            (local.get $delta)
            (i64.or (i64.shl (i64.extend_i32_u (local.get $id)) (i64.const 32)) (i64.const 0x40000000))))
        (global.set $head (local.tee $head (i64.add (local.get $head) (i64.const 0x1_0000_0008))))
        (local.set $token (i64.and (local.get $head) (i64.const 0xffff_ffff_0000_0000)))
        (global.set $last (i64.add (global.get $last) (local.get $delta)))
        (br $done))
      (local.set $token (i64.const 0xffff_ffff_0000_0000))
      (@metadata.code.branch_hint "\00") (if $rare (i64.ne (i64.load (i32.const 0)) (i64.const -1))
        (then
          (local.set $token (call $enter_inside (local.get $id)))
          (@metadata.code.branch_hint "\00") (br_if $rare (i32.const 1))
          (unreachable)))))

  (func (export "inline.leave") (param $id i32) (param $token i64) (param $head i64) (param $at i64) (param $delta i64)
    (block $done
      (block $slow
        (@metadata.code.branch_hint "\00") (br_if $slow
          (i64.ge_u
            (local.tee $at (i64.sub (local.tee $head (global.get $head)) (local.get $token)))
            (i64.load32_u (i32.const 8))))
        (@metadata.code.branch_hint "\00") (br_if $slow
          (i64.ge_u
            (local.tee $delta (i64.sub (global.get $instructions) (global.get $last)))
            (i64.const 0x40000000)))
        (i64.store (i32.wrap_i64 (local.get $at)) (i64.or (local.get $delta) (i64.const 0x8000000040000000)))
        (global.set $head (i64.sub (local.get $head) (i64.const 0xffff_fff8)))
        (global.set $last (i64.add (global.get $last) (local.get $delta)))
        (br $done))
      (@metadata.code.branch_hint "\01") (br_if $done (i64.lt_s (local.get $token) (i64.const 0)))
      (call $leave_inside (local.get $token))))

  (func (export "inline.leaf") (param $id i32)
    (call $leaf (local.get $id)))
  ;; #end

  ;; #if inline instructions
  (func (export "inline.unwind") (param $id i32) (param $token i64) (param $head i64)
    (@metadata.code.branch_hint "\00") (if (i64.ne (i64.shr_u (local.get $token) (i64.const 32)) (i64.shr_u (global.get $head) (i64.const 32)))
      (then (call $unwind (i32.wrap_i64 (i64.shr_u (local.get $token) (i64.const 32)))))))

  ;; For a function without a probe that may catch: it keeps the depth at its beginning plus one, because 0 stands for a local
  ;; that was lost. 0 minus one is larger than every depth, so nothing is closed then.
  (func (export "inline.here") (param $id i32) (param $token i32)
    (local.set $token (i32.add (depth.get) (i32.const 1))))

  (func (export "inline.back") (param $id i32) (param $token i32)
    (@metadata.code.branch_hint "\00") (if (i32.lt_u (i32.sub (local.get $token) (i32.const 1)) (depth.get))
      (then (call $close (i32.const 0) (i32.sub (local.get $token) (i32.const 1))))))
  ;; #end
