;; --probe sample
;; No function has a probe. The recorder's start function announces the instance.
(module
  (func $callee (param i32) (result i32) local.get 0)
  (func $main (export "main") (result i32) (call $callee (i32.const 1))))
(; EXPECTED
0 = func[0] callee
1 = func[1] main
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (result i32)))
  (type (;2;) (func (param i32 i32)))
  (type (;3;) (func))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 2) (param i32 i32)))
  (memory (;0;) 17 17 shared)
  (global (;0;) i32 i32.const 0)
  (global (;1;) i32 i32.const 2)
  (export "main" (func $main))
  (export "kperf.memory" (memory 0))
  (export "kperf.state.id_base" (global 0))
  (export "kperf.state.functions" (global 1))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $callee (;1;) (type 0) (param i32) (result i32)
    local.get 0
  )
  (func $main (;2;) (type 1) (result i32)
    i32.const 1
    call $callee
  )
)

;)
