;; A part of recorder.wat: what only a recorder beside the core modules of a component has. While the component may not be left
;; (in `realloc` and `post-return`), it can't hand over its block: what then has no room is lost, and counted.

  ;; #if component
  ;; Takes the time before the component may not be left, for what happens there.
  (func (export "look")
    (local $now i64)
    (local.set $now (call $now))
    (if (i64.eq (local.get $now) (i64.const -1)) (then (return)))
    (drop (call $make_room (local.get $now))))

  ;; The block has no room for an event. Answers whether it is lost, because the component may not be left. An enter is lost with
  ;; its leave: two events.
  (func $lose (param $events i64) (result i32)
    (if (i32.eqz (global.get $hold)) (then (return (i32.const 0))))
    (i64.store (i32.const 72) (i64.add (i64.load (i32.const 72)) (local.get $events)))
    (i32.const 1))

  ;; The usual case of an event is small enough for an engine that compiles it into the callers.
  ;; #if counted
  (func $enter (export "enter") (param $func_id i32) (result i32)
    (local $position i32) (local $delta i64)
    (@metadata.code.branch_hint "\00") (if (i32.or
          (i32.or
            (i32.load (i32.const 0))
            (i64.ge_u
              (local.tee $delta (i64.sub (global.get $instructions) (global.get $last)))
              (i64.const 0x40000000)))
          (i32.ge_u (local.tee $position (position.get)) (global.get $full)))
      (then (return (call $enter_slow (local.get $func_id)))))
    (i64.store (local.get $position)
      (i64.or
        (local.get $delta)
        (i64.or (i64.shl (i64.extend_i32_u (local.get $func_id)) (i64.const 32)) (i64.const 0x40000000))))
    (position.set (i32.add (local.get $position) (i32.const 8)))
    (global.set $last (global.get $instructions))
    (depth.set (i32.add (depth.get) (i32.const 1)))
    (depth.get))

  (func $leave (export "leave") (param $token i32)
    (local $position i32) (local $delta i64)
    (@metadata.code.branch_hint "\00") (if (i32.or
          (i32.or
            (i32.or
              (i32.load (i32.const 0))
              (i64.ge_u
                (local.tee $delta (i64.sub (global.get $instructions) (global.get $last)))
                (i64.const 0x40000000)))
            (i32.ge_u (local.tee $position (position.get)) (global.get $full)))
          (i32.or (i32.ne (local.get $token) (depth.get)) (i32.eqz (local.get $token))))
      (then (call $leave_slow (local.get $token)) (return)))
    (i64.store (local.get $position) (i64.or (local.get $delta) (i64.const 0x8000000040000000)))
    (position.set (i32.add (local.get $position) (i32.const 8)))
    (global.set $last (global.get $instructions))
    (depth.set (i32.sub (local.get $token) (i32.const 1))))
  ;; #end

  ;; #if asking
  (func $enter (export "enter") (param $func_id i32) (result i32)
    (local $position i32)
    (@metadata.code.branch_hint "\00") (if (i32.or
          (i64.ne (i64.load (i32.const 0)) (global.get $last))
          (i32.ge_u (local.tee $position (position.get)) (global.get $full)))
      (then (return (call $enter_slow (local.get $func_id)))))
    (i32.store (local.get $position) (local.get $func_id))
    (position.set (i32.add (local.get $position) (i32.const 4)))
    (depth.set (i32.add (depth.get) (i32.const 1)))
    (depth.get))

  (func $leave (export "leave") (param $token i32)
    (local $position i32)
    (@metadata.code.branch_hint "\00") (if (i32.or
          (i32.or
            (i64.ne (i64.load (i32.const 0)) (global.get $last))
            (i32.ge_u (local.tee $position (position.get)) (global.get $full)))
          (i32.or (i32.ne (local.get $token) (depth.get)) (i32.eqz (local.get $token))))
      (then (call $leave_slow (local.get $token)) (return)))
    (i32.store (local.get $position) (i32.const 0x80000000))
    (position.set (i32.add (local.get $position) (i32.const 4)))
    (depth.set (i32.sub (local.get $token) (i32.const 1))))
  ;; #end
  ;; #end
