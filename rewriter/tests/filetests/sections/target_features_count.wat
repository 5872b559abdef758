;; --probe count
;; Binaryen refuses what a module uses and doesn't name: a shared memory, here the only one.
(module
  (@custom "target_features" (after last) "\03+\0bbulk-memory-\07atomics+\08sign-ext")
  (func (export "f") ))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32 i32)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 1) (param i32 i32)))
  (memory (;0;) 17 17 shared)
  (global (;0;) i32 i32.const 0)
  (global (;1;) i32 i32.const 1)
  (export "f" (func 1))
  (export "kperf.memory" (memory 0))
  (export "kperf.state.id_base" (global 0))
  (export "kperf.state.functions" (global 1))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func (;1;) (type 0)
    i32.const 1048576
    i32.const 1048576
    i64.load
    i64.const 1
    i64.add
    i64.store
  )
  (@custom "target_features" (after code) "\03+\0bbulk-memory+\07atomics+\08sign-ext")
)

;)
