;; Two components in a third. `caller` passes strings to `callee`, which lies in another memory: so each call runs `realloc`
;; and `post-return` there, during which a component may not be left.
(component
  (component $callee
    (core module $callee
      (memory (export "mem") 1)
      (global $work (mut i32) (i32.const 0))
      (func $work)
      (func $works
        (local $n i32)
        (local.set $n (global.get $work))
        (block $done
          (loop $next
            (br_if $done (i32.eqz (local.get $n)))
            (call $work)
            (local.set $n (i32.sub (local.get $n) (i32.const 1)))
            (br $next))))
      (func $realloc (export "realloc") (param i32 i32 i32 i32) (result i32) (call $works) (i32.const 1024))
      (func $len (export "len") (param i32 i32) (result i32) (local.get 1))
      (func $post (export "post") (param i32) (call $works))
      (func $set (export "set") (param i32) (global.set $work (local.get 0))))
    (core instance $i (instantiate $callee))
    (func (export "len") (param "s" string) (result u32)
      (canon lift (core func $i "len") (memory (core memory $i "mem")) (realloc (core func $i "realloc"))
        (post-return (core func $i "post"))))
    (func (export "set") (param "n" u32) (canon lift (core func $i "set"))))
  (component $caller
    (import "len" (func $len (param "s" string) (result u32)))
    (import "set" (func $set (param "n" u32)))
    (core module $mem (memory (export "mem") 1) (data (i32.const 0) "eighteen letters.."))
    (core instance $mem (instantiate $mem))
    (core func $len (canon lower (func $len) (memory (core memory $mem "mem"))))
    (core func $set (canon lower (func $set)))
    (core module $caller
      (import "" "len" (func $len (param i32 i32) (result i32)))
      (import "" "set" (func $set (param i32)))
      (func $lengths (export "lengths") (param $n i32) (result i32)
        (local $sum i32)
        (loop $next
          (local.set $sum (i32.add (local.get $sum) (call $len (i32.const 0) (i32.const 18))))
          (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
      (func $busy (export "busy") (param $n i32) (result i32)
        (call $set (local.get $n))
        (call $lengths (i32.const 1))))
    (core instance $i (instantiate $caller (with "" (instance (export "len" (func $len)) (export "set" (func $set))))))
    (func (export "lengths") (param "n" u32) (result u32) (canon lift (core func $i "lengths")))
    (func (export "busy") (param "n" u32) (result u32) (canon lift (core func $i "busy"))))
  (instance $a (instantiate $callee))
  (instance $b (instantiate $caller (with "len" (func $a "len")) (with "set" (func $a "set"))))
  (func (export "lengths") (alias export $b "lengths"))
  (func (export "busy") (alias export $b "busy")))
