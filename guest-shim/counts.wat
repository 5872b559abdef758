;; The recorder of `--record profile --stack native`: what the rewriter puts into a module that counts its calls, and no more.
;;
;; Which calls are open stands on the stack of the thread that makes them. A host that can read that one needs no other:
;; functions keep nothing, and it doesn't matter how they end. src/shadow.rs says where the counts lie.
(module $kperf_counts
  (import "kperf:host" "flush" (func $host_flush (param $address i32) (param $length i32)))
  ;; The rewriter makes it as large as the counts need. It is shared so that other threads may read it.
  (memory $counts (export "memory") 17 17 shared)

  ;; The function whose count is the first, and how many have one. The rewriter sets them.
  (global $id_base (export "state.id_base") i32 (i32.const 0))
  (global $functions (export "state.functions") i32 (i32.const 0))

  ;; Tells the host of this instance, before anything else of it runs: the rewriter makes it the start function, which calls
  ;; the module's own behind it.
  (func $start (export "start")
    (call $host_flush (i32.const 64) (i32.const 0)))

  ;; All of a probe. The rewriter copies this body (rewriter/src/template.rs): $id becomes the function's id, $count the
  ;; address of its count. It is never called.
  (func (export "inline.leaf") (param $id i32) (param $count i32)
    (i64.store (local.get $count) (i64.add (i64.load (local.get $count)) (i64.const 1))))
)
