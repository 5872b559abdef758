;; The recorder of `--record profile --stack native`. The rewriter puts it into a module, which then only counts its calls.
;;
;; The host finds the open calls on the stack of the thread that makes them. So functions keep no stack of our own, and it
;; doesn't matter how they end. src/shadow.rs says where the counts lie.
(module $kperf_counts
  (import "kperf:host" "flush" (func $host_flush (param $address i32) (param $length i32)))
  ;; The rewriter makes it as large as the counts need. It is shared so that other threads may read it.
  (memory $counts (export "memory") 17 17 shared)

  ;; The id of the function that has the first count, and the number of counts. The rewriter sets them.
  (global $id_base (export "state.id_base") i32 (i32.const 0))
  (global $functions (export "state.functions") i32 (i32.const 0))

  ;; Tells the host that this instance exists, before any of its code runs. The rewriter makes this the start function, and adds
  ;; a call of the module's own start function.
  (func $start (export "start")
    (call $host_flush (i32.const 64) (i32.const 0)))

  ;; The whole probe. The rewriter copies this body (rewriter/src/instrument/template.rs): $id becomes the function's id, $count the
  ;; address of its count. Nothing calls it.
  (func (export "inline.leaf") (param $id i32) (param $count i32)
    (i64.store (local.get $count) (i64.add (i64.load (local.get $count)) (i64.const 1))))
)
