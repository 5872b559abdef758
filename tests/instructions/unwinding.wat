;; Every way out of a function, a thousand times: exceptions through frames and into loops, tail calls, tables of labels,
;; several results, calls through tables, what copies and fills.
(module
  (type $pair (func (param i32) (result i32 i32)))
  (type $unary (func (param i32) (result i32)))
  (tag $odd (param i32))
  (tag $plain)
  (memory 1)
  (table 4 funcref)
  (elem (i32.const 0) func $twice $picky $between $chain)
  (global $sum (mut i32) (i32.const 0))

  (func $twice (type $unary) (i32.shl (local.get 0) (i32.const 1)))

  (func $picky (type $unary)
    (if (i32.and (local.get 0) (i32.const 1))
      (then (throw $odd (i32.mul (local.get 0) (i32.const 3)))))
    (if (i32.eq (i32.and (local.get 0) (i32.const 6)) (i32.const 6)) (then (throw $plain)))
    (i32.add (local.get 0) (i32.const 11)))

  ;; What stands behind a call that throws is not executed.
  (func $between (type $unary) (local $x i32)
    (local.set $x (call $picky (local.get 0)))
    (local.set $x (i32.xor (local.get $x) (call $twice (i32.const 21))))
    (i32.rotl (local.get $x) (i32.const 3)))

  ;; Caught into a block, and into the head of a loop that calls nothing else.
  (func $catches (type $unary) (local $left i32)
    (local.set $left (i32.const 3))
    (block $caught (result i32)
      (loop $again
        (if (i32.eqz (local.get $left)) (then (return (i32.const -1))))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (try_table (catch $odd $caught) (catch_all $again)
          (return (i32.add (call $between (local.get 0)) (i32.const 1))))
        (unreachable))
      (unreachable))
    (i32.add (i32.const 5)))

  (func $spins (param $n i32) (result i32) (local $x i32)
    (block $done
      (loop $l
        (br_if $done (i32.ge_u (local.get $x) (local.get $n)))
        (block $rare
          (br_if $rare (i32.rem_u (local.get $x) (i32.const 5)))
          (global.set $sum (i32.add (global.get $sum) (local.get $x))))
        (local.set $x (i32.add (local.get $x) (i32.const 1)))
        (br $l)))
    (local.get $x))

  (func $pair (type $pair)
    (if (result i32 i32) (i32.gt_s (local.get 0) (i32.const 500))
      (then (return (i32.const 1) (i32.const 2)))
      (else (local.get 0) (i32.const 4)))
    (drop) (i32.const 9))

  (func $chain (type $unary)
    (if (i32.eqz (local.get 0)) (then (return_call $twice (i32.const 8))))
    (return_call_indirect (type $unary) (i32.sub (local.get 0) (i32.const 1)) (i32.const 3)))

  (func $select (param $x i32) (result i32)
    (block $three (block $two (block $one (block $zero
      (br_table $zero $one $two $three (i32.and (local.get $x) (i32.const 3))))
      (local.set $x (i32.add (local.get $x) (i32.const 10))))
      (local.set $x (i32.mul (local.get $x) (i32.const 7)))
      (br $three))
      (memory.fill (i32.const 16) (local.get $x) (i32.and (local.get $x) (i32.const 1023))))
    (memory.copy (i32.const 0) (i32.const 16) (i32.const 64))
    (local.get $x))

  (func (export "run") (param $n i32) (result i32) (local $i i32)
    (local.set $i (i32.mul (local.get $n) (i32.const 143)))
    (loop $l
      (global.set $sum (i32.add (global.get $sum) (call $catches (local.get $i))))
      (global.set $sum (i32.add (global.get $sum) (call $spins (i32.and (local.get $i) (i32.const 15)))))
      (call $pair (local.get $i))
      (global.set $sum (i32.add (global.get $sum) (i32.xor)))
      (global.set $sum (i32.add (global.get $sum) (call $chain (i32.and (local.get $i) (i32.const 31)))))
      (global.set $sum (i32.add (global.get $sum) (call $select (local.get $i))))
      (br_if $l (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
    (global.get $sum))

  (func (export "throws") (param $n i32) (result i32) (i32.add (call $between (local.get $n)) (i32.const 1)))
  (func (export "unreachable") (param $n i32) (if (local.get $n) (then (unreachable))) (drop (i32.const 1)))
  (func (export "calls null") (param $n i32) (result i32)
    (i32.add (i32.const 1) (call_indirect (type $pair) (local.get $n) (i32.const 0)) (drop)))
  (func (export "divides") (param $n i32) (result i32)
    (i32.add (i32.div_u (local.get $n) (i32.const 0)) (i32.const 1))))
