;; What wasmtime can do is on: GC, typed references, 64-bit and several memories, wide arithmetic, SIMD, threads.
;; RUN: run --clock test -q % --invoke sum 3
;; RUN: replay proposals.kperf
;; RUN: info %
(module
  (type $add (func (param i64 i64) (result i64)))
  (type $pair (struct (field i64) (field (ref $add))))
  (memory $small i64 1)
  (memory $shared 1 1 shared)
  (func $add (type $add) (i64.add (local.get 0) (local.get 1)))
  (elem declare func $add)
  (func $make (param i64) (result (ref $pair)) (struct.new $pair (local.get 0) (ref.func $add)))
  (func (export "sum") (param i64) (result i64 i64)
    (local $p (ref $pair))
    (local.set $p (call $make (local.get 0)))
    (i64.store $small (i64.const 8) (i64.const 4))
    (drop (i64.atomic.rmw.add $shared (i32.const 0) (i64.const 5)))
    (drop (i32x4.relaxed_laneselect (v128.const i64x2 0 0) (v128.const i64x2 0 0) (v128.const i64x2 0 0)))
    (call_ref $add (struct.get $pair 0 (local.get $p)) (i64.load $small (i64.const 8)) (struct.get $pair 1 (local.get $p)))
    (i64.atomic.load $shared (i32.const 0))
    (i64.const 0) (i64.const 1) (i64.const 0)
    i64.add128
    drop
    drop
    (i64.const 9)))
