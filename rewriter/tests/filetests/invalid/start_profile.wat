;; --probe profile
;; One past the last function would be the recorder's.
(module
  (func $f)
  (start 1))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32 i32)))
  (type (;2;) (func (param i32 i32) (result i32)))
  (type (;3;) (func (param i32)))
  (type (;4;) (func (param i32) (result i32)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 1) (param i32 i32)))
  (memory (;0;) 17 17 shared)
  (global (;0;) (mut i32) i32.const 64)
  (global (;1;) i32 i32.const 0)
  (global (;2;) i32 i32.const 1)
  (export "kperf.memory" (memory 0))
  (export "kperf.state.top" (global 0))
  (export "kperf.state.id_base" (global 1))
  (export "kperf.state.functions" (global 2))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $f (;1;) (type 0)
    (local i32)
    global.get 0
    local.tee 0
    i32.const 0
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.store
    i32.const 1048576
    i32.const 1048576
    i64.load
    i64.const 1
    i64.add
    i64.store
    block ;; label = @1
    end
    local.get 0
    i64.const 0
    i64.store
  )
)

;)
