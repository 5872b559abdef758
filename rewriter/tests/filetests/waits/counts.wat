;; --probe count
;; Samples are of the processor time of the guest's own thread: a wait needs no probe.
(module
  (memory 1 1 shared)
  (func $lock (result i32)
    (memory.atomic.wait32 (i32.const 0) (i32.const 1) (i64.const -1))))
(; EXPECTED
0 = func[0] lock
(module
  (type (;0;) (func (result i32)))
  (type (;1;) (func (param i32 i32)))
  (type (;2;) (func))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 1) (param i32 i32)))
  (memory (;0;) 1 1 shared)
  (memory (;1;) 17 17 shared)
  (global (;0;) i32 i32.const 0)
  (global (;1;) i32 i32.const 1)
  (export "kperf.memory" (memory 1))
  (export "kperf.state.id_base" (global 0))
  (export "kperf.state.functions" (global 1))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $lock (;1;) (type 0) (result i32)
    i32.const 1048576
    i32.const 1048576
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    i32.const 0
    i32.const 1
    i64.const -1
    memory.atomic.wait32
  )
)

;)
