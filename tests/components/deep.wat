(component
  (component $callee
    (core module $callee
      (memory (export "mem") 1) (global $once (mut i32) (i32.const 0))
      (func $rec (param i32) (if (local.get 0) (then (call $leaf) (call $rec (i32.sub (local.get 0) (i32.const 1))))))
      (func $leaf)
      (func $after)
      (func $realloc (export "realloc") (param i32 i32 i32 i32) (result i32) (if (i32.eqz (global.get $once)) (then (global.set $once (i32.const 1)) (call $rec (i32.const 9000)))) (call $after) (i32.const 1024))
      (func $len (export "len") (param i32 i32) (result i32) (call $after) (local.get 1))
      (func $post (export "post") (param i32) (call $after)))
    (core instance $i (instantiate $callee))
    (func (export "len") (param "s" string) (result u32)
      (canon lift (core func $i "len") (memory (core memory $i "mem")) (realloc (core func $i "realloc"))
        (post-return (core func $i "post")))))
  (component $caller
    (import "len" (func $len (param "s" string) (result u32)))
    (core module $mem (memory (export "mem") 1) (data (i32.const 0) "eighteen letters.."))
    (core instance $mem (instantiate $mem))
    (core func $len (canon lower (func $len) (memory (core memory $mem "mem"))))
    (core module $caller
      (import "" "len" (func $len (param i32 i32) (result i32)))
      (func $lengths (export "lengths") (param $n i32) (result i32)
        (local $sum i32)
        (loop $next
          (local.set $sum (i32.add (local.get $sum) (call $len (i32.const 0) (i32.const 18))))
          (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))
    (core instance $i (instantiate $caller (with "" (instance (export "len" (func $len))))))
    (func (export "lengths") (param "n" u32) (result u32) (canon lift (core func $i "lengths"))))
  (instance $a (instantiate $callee))
  (instance $b (instantiate $caller (with "len" (func $a "len"))))
  (func (export "lengths") (alias export $b "lengths")))
