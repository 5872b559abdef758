;; --probe profile
;; A count and a slot for each call; a leaf doesn't move the top. The module gets a start function, and its memory keeps its
;; index.
(module
  (memory (export "memory") 1)
  (func $leaf (export "leaf") (param i32) (result i32) (i32.load (local.get 0)))
  (func $caller (param i64 i32) (result i32) (local i64) (call $leaf (local.get 1))))
(; EXPECTED
0 = func[0] leaf
1 = func[1] caller
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (param i64 i32) (result i32)))
  (type (;2;) (func (param i32 i32)))
  (type (;3;) (func))
  (type (;4;) (func (param i32 i32) (result i32)))
  (type (;5;) (func (param i32)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 2) (param i32 i32)))
  (memory (;0;) 1)
  (memory (;1;) 17 17 shared)
  (global (;0;) (mut i32) i32.const 64)
  (global (;1;) i32 i32.const 0)
  (global (;2;) i32 i32.const 2)
  (export "memory" (memory 0))
  (export "leaf" (func $leaf))
  (export "kperf.memory" (memory 1))
  (export "kperf.state.top" (global 0))
  (export "kperf.state.id_base" (global 1))
  (export "kperf.state.functions" (global 2))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $leaf (;1;) (type 0) (param i32) (result i32)
    (local i32 i32)
    global.get 0
    local.tee 1
    i32.const 0
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
    block (result i32) ;; label = @1
      local.get 0
      i32.load
    end
    local.tee 2
    local.get 1
    local.get 2
    i64.extend_i32_u
    i64.const 32
    i64.shl
    i64.store 1
  )
  (func $caller (;2;) (type 1) (param i64 i32) (result i32)
    (local i64 i32 i32)
    global.get 0
    local.tee 3
    i32.const 1
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.store 1
    i32.const 1048584
    i32.const 1048584
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    local.get 3
    i32.const 8
    i32.add
    i32.const 1048560
    local.get 3
    i32.const 1048560
    i32.lt_u
    select
    global.set 0
    block (result i32) ;; label = @1
      local.get 1
      call $leaf
    end
    local.tee 4
    local.get 3
    local.get 4
    i64.extend_i32_u
    i64.const 32
    i64.shl
    i64.store 1
    local.get 3
    global.set 0
  )
)

;)
