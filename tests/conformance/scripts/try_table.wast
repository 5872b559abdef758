;; What the suite doesn't try of `try_table`: branches out of one that has clauses, parameters of several types, clauses
;; that name distant labels, exceptions that pass through frames of other modules.

(module $thrower
  (tag $number (export "number") (param i32))
  (tag $pair (export "pair") (param i64 f32))
  (tag $empty (export "empty"))
  (func $deep (export "throw at depth") (param $depth i32) (param $value i32)
    (if (i32.eqz (local.get $depth))
      (then (throw $number (local.get $value))))
    (call $deep (i32.sub (local.get $depth) (i32.const 1)) (local.get $value)))
  (func (export "throw pair") (throw $pair (i64.const 5) (f32.const 2.5)))
  (func (export "throw empty") (throw $empty))
  (func (export "fine") (param i32) (result i32) (local.get 0)))
(register "thrower")

(assert_exception (invoke "throw at depth" (i32.const 9) (i32.const 1)))
(assert_return (invoke "fine" (i32.const 4)) (i32.const 4))

(module
  (tag $number (import "thrower" "number") (param i32))
  (tag $pair (import "thrower" "pair") (param i64 f32))
  (tag $empty (import "thrower" "empty"))
  (import "thrower" "throw at depth" (func $deep (param i32 i32)))
  (import "thrower" "throw pair" (func $pair))
  (import "thrower" "throw empty" (func $empty))
  (import "thrower" "fine" (func $fine (param i32) (result i32)))
  (type $thrower (func))
  (table $throwers 2 funcref)
  (elem (table $throwers) (i32.const 0) func $pair $empty)
  (elem declare func $empty)

  (func (export "catch from depth") (param $depth i32) (result i32)
    (block $caught (result i32)
      (try_table (result i32) (catch $number $caught)
        (call $deep (local.get $depth) (i32.const 7))
        (i32.const 0))))

  ;; Leaves by a branch to each label: the try_table's own, two around it, the function's.
  (func (export "branch out") (param $to i32) (result i32)
    (block $outer (result i32)
      (block $inner (result i32)
        (drop
          (try_table $own (result i32) (catch $number $inner)
            (block $3 (block $2 (block $1 (block $0
              (br_table $0 $1 $2 $3 (local.get $to)))
              (br $own (i32.const 10)))
              (br $inner (i32.const 20)))
              (br $outer (i32.const 30)))
            (return (i32.const 40))))
        (call $fine (i32.const 1)))
      (i32.add (i32.const 100)))
    (i32.add (i32.const 1000)))

  (func (export "branch by table") (param $to i32) (result i32)
    (block $outer (result i32)
      (block $inner (result i32)
        (try_table $own (result i32) (catch $number $outer)
          (br_table $own $inner $outer 3 (call $fine (i32.const 5)) (local.get $to))))
      (i32.add (i32.const 100)))
    (i32.add (i32.const 1000)))

  (func (export "branch if") (param $leaves i32) (result i32)
    (block $outer (result i32)
      (block $caught
        (try_table (catch $empty $caught)
          (drop (br_if $outer (i32.const 1) (local.get $leaves)))
          (call $empty)))
      (i32.const 2)))

  ;; Parameters of several types: they wait in locals while the pads open.
  (func (export "parameters") (param i32 i64 f32) (result i32 i64 f32)
    (local.get 0) (local.get 1) (local.get 2)
    (block $caught (param i32 i64 f32)
      (try_table (param i32 i64 f32) (result i32 i64 f32) (catch_all $caught)
        (if (i32.eqz (local.get 0)) (then (call $empty))))
      (return))
    (i32.const -1) (i64.const -1) (f32.const -1))

  ;; Which clause: the first that fits, with its own values and label.
  (func (export "clauses") (param $which i32) (result i64)
    (local $pair_second f32)
    (block $any
      (block $is_empty
        (block $is_pair (result i64 f32)
          (block $is_number (result i32)
            (try_table (catch $number $is_number) (catch $pair $is_pair) (catch $empty $is_empty) (catch_all $any)
              (if (i32.eq (local.get $which) (i32.const 0)) (then (call $deep (i32.const 3) (i32.const 11))))
              (if (i32.eq (local.get $which) (i32.const 1))
                (then (call_indirect $throwers (type $thrower) (i32.const 0))))
              (if (i32.eq (local.get $which) (i32.const 2)) (then (call_ref $thrower (ref.func $empty)))))
            (return (i64.const 0)))
          (return (i64.extend_i32_s)))
        (local.set $pair_second)
        (return (i64.add (i64.trunc_f32_s (local.get $pair_second)))))
      (return (i64.const 22)))
    (i64.const 33))

  ;; Caught by reference, thrown again through a frame, caught outside.
  (func $again (param $depth i32)
    (local $exception exnref)
    (block $caught (result exnref)
      (try_table (catch_all_ref $caught) (call $deep (local.get $depth) (i32.const 13)))
      (return))
    (local.set $exception)
    (throw_ref (local.get $exception)))
  (func (export "rethrown") (param $depth i32) (result i32)
    (local $exception exnref)
    (block $caught (result i32 exnref)
      (try_table (catch_ref $number $caught) (call $again (local.get $depth)))
      (return (i32.const 0)))
    (local.set $exception)
    (i32.add (i32.const 1)))
  (func (export "escapes") (call $again (i32.const 4)))

  ;; A loop catches; the next turn is at the same depth.
  (func (export "turns") (param $turns i32) (result i32)
    (local $caught i32)
    (loop $again
      (local.set $turns (i32.sub (local.get $turns) (i32.const 1)))
      (block $done
        (br_if $done (i32.lt_s (local.get $turns) (i32.const 0)))
        (local.set $caught (i32.add (local.get $caught) (i32.const 1)))
        (try_table (catch_all $again) (call $deep (i32.const 2) (i32.const 1)))))
    (local.get $caught))

  ;; Nested: the inner clauses name labels outside the outer try_table, whose pads lie between.
  (func (export "nested") (param $which i32) (result i32)
    (block $from_inner (result i32)
      (block $from_outer
        (try_table (catch $empty $from_outer) (catch $number $from_inner)
          (try_table (catch $number $from_inner)
            (if (i32.eqz (local.get $which)) (then (call $deep (i32.const 1) (i32.const 3))))
            (if (i32.eq (local.get $which) (i32.const 1)) (then (call $empty)))
            (if (i32.eq (local.get $which) (i32.const 2)) (then (return (i32.const 8)))))
          (return (i32.const 9))))
      (i32.const 5)))

  ;; A tail call leaves the try_table's protection, and the frame.
  (func (export "tail call") (result i32)
    (block $caught (result i32)
      (try_table (result i32) (catch $number $caught) (call $tail) (i32.const 0))))
  (func $tail
    (block $caught
      (try_table (catch_all $caught) (return_call $deep (i32.const 2) (i32.const 17))))))

(assert_return (invoke "catch from depth" (i32.const 0)) (i32.const 7))
(assert_return (invoke "catch from depth" (i32.const 50)) (i32.const 7))
(assert_return (invoke "branch out" (i32.const 0)) (i32.const 1101))
(assert_return (invoke "branch out" (i32.const 1)) (i32.const 1120))
(assert_return (invoke "branch out" (i32.const 2)) (i32.const 1030))
(assert_return (invoke "branch out" (i32.const 3)) (i32.const 40))
(assert_return (invoke "branch by table" (i32.const 0)) (i32.const 1105))
(assert_return (invoke "branch by table" (i32.const 1)) (i32.const 1105))
(assert_return (invoke "branch by table" (i32.const 2)) (i32.const 1005))
(assert_return (invoke "branch by table" (i32.const 3)) (i32.const 5))
(assert_return (invoke "branch if" (i32.const 1)) (i32.const 1))
(assert_return (invoke "branch if" (i32.const 0)) (i32.const 2))
(assert_return (invoke "parameters" (i32.const 1) (i64.const 2) (f32.const 3)) (i32.const 1) (i64.const 2) (f32.const 3))
(assert_return (invoke "parameters" (i32.const 0) (i64.const 2) (f32.const 3)) (i32.const -1) (i64.const -1) (f32.const -1))
(assert_return (invoke "clauses" (i32.const 0)) (i64.const 11))
(assert_return (invoke "clauses" (i32.const 1)) (i64.const 7))
(assert_return (invoke "clauses" (i32.const 2)) (i64.const 22))
(assert_return (invoke "clauses" (i32.const 3)) (i64.const 0))
(assert_return (invoke "rethrown" (i32.const 0)) (i32.const 14))
(assert_return (invoke "rethrown" (i32.const 20)) (i32.const 14))
(assert_exception (invoke "escapes"))
(assert_return (invoke "turns" (i32.const 12)) (i32.const 12))
(assert_return (invoke "nested" (i32.const 0)) (i32.const 3))
(assert_return (invoke "nested" (i32.const 1)) (i32.const 5))
(assert_return (invoke "nested" (i32.const 2)) (i32.const 8))
(assert_return (invoke "nested" (i32.const 3)) (i32.const 9))
(assert_return (invoke "tail call") (i32.const 17))
