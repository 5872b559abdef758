;; --probe profile-spans --id-base 100
;; A wait has no count of its own that a host reads.
(module
  (memory 1 1 shared)
  (func $lock (param i32) (result i32)
    (memory.atomic.wait64 offset=4294967288 (local.get 0) (i64.const 1) (i64.const -1))))
(; EXPECTED
100 = func[0] lock
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (param i32 i32)))
  (type (;2;) (func))
  (type (;3;) (func (param i32 i32) (result i32)))
  (type (;4;) (func (param i32)))
  (type (;5;) (func (param i32 i64 i64) (result i32)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 1) (param i32 i32)))
  (memory (;0;) 1 1 shared)
  (memory (;1;) 17 17 shared)
  (global (;0;) (mut i32) i32.const 64)
  (global (;1;) i32 i32.const 100)
  (global (;2;) i32 i32.const 1)
  (export "kperf.memory" (memory 1))
  (export "kperf.state.top" (global 0))
  (export "kperf.state.id_base" (global 1))
  (export "kperf.state.functions" (global 2))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $lock (;1;) (type 0) (param i32) (result i32)
    (local i32 i32)
    global.get 0
    local.tee 1
    i32.const 100
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.store 1
    i32.const 1048576
    i32.const 1048576
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    local.get 1
    i32.const 1048576
    i32.load 1
    i32.store 1 offset=4
    local.get 1
    i32.const 8
    i32.add
    i32.const 1048560
    local.get 1
    i32.const 1048560
    i32.lt_u
    select
    global.set 0
    block (result i32) ;; label = @1
      local.get 0
      i64.const 1
      i64.const -1
      call $memory.atomic.wait64
    end
    local.tee 2
    local.get 1
    local.get 2
    i64.extend_i32_u
    i64.const 32
    i64.shl
    i64.store 1
    local.get 1
    global.set 0
  )
  (func $memory.atomic.wait64 (;7;) (type 5) (param i32 i64 i64) (result i32)
    (local i32)
    global.get 0
    local.tee 3
    i32.const 1073741821
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.store 1
    i32.const 8
    i32.const 8
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    local.get 3
    i32.const 8
    i32.load 1
    i32.store 1 offset=4
    local.get 3
    i32.const 8
    i32.add
    i32.const 1048560
    local.get 3
    i32.const 1048560
    i32.lt_u
    select
    global.set 0
    local.get 0
    local.get 1
    local.get 2
    memory.atomic.wait64 offset=4294967288
    local.get 3
    i64.const 0
    i64.store 1
    local.get 3
    global.set 0
  )
)

;)
