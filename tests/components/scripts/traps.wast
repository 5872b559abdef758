;; Traps in each function that the canonical ABI calls, and of the canonical ABI itself.
(component definition $traps
  (core module $m
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (if (i32.eq (local.get 3) (i32.const 4)) (then (unreachable)))
      (i32.const 64))
    (func (export "take") (param i32 i32))
    (func (export "give") (param i32) (result i32)
      (i32.store (i32.const 8) (local.get 0))
      (i32.store (i32.const 12) (i32.const 3))
      (i32.const 8))
    (func (export "post") (param i32) (if (i32.eqz (i32.load (i32.const 8))) (then (unreachable))))
    (func $deep (param i32) (if (i32.eqz (local.get 0)) (then (unreachable)))
      (call $deep (i32.sub (local.get 0) (i32.const 1))))
    (func (export "fall") (param i32) (call $deep (local.get 0))))
  (core instance $m (instantiate $m))
  (func (export "take") (param "text" string)
    (canon lift (core func $m "take") (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (func (export "give") (param "at" u32) (result string)
    (canon lift (core func $m "give") (memory (core memory $m "memory")) (post-return (core func $m "post"))))
  (func (export "fall") (param "depth" u32) (canon lift (core func $m "fall"))))

(component instance $a $traps)
(assert_return (invoke "take" (str.const "abc")))
(assert_return (invoke "give" (u32.const 32)) (str.const "\00\00\00"))
;; The realloc of an argument.
(assert_trap (invoke "take" (str.const "abcd")) "unreachable")
;; The component can't be called any more.
(assert_trap (invoke "take" (str.const "abc")) "cannot enter component instance")

(component instance $b $traps)
;; A result that lies outside of the memory.
(assert_trap (invoke "give" (u32.const 65535)) "string pointer/length out of bounds")

(component instance $c $traps)
;; The `post-return`.
(assert_trap (invoke "give" (u32.const 0)) "unreachable")

(component instance $d $traps)
(assert_trap (invoke "fall" (u32.const 100)) "unreachable")
