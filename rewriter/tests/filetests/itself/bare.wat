;; --probe self --skip plain
;; No WASI: the host fetches the recording. A function without a probe grows the memory too. A start function stays as it is.
(module
  (import "host" "f" (func $host))
  (memory 1)
  (start $plain)
  (func $plain (drop (memory.grow (memory.size))) (call $host))
  (func $probed (export "run") (param i32) (result i32)
    (call $plain)
    (if (local.get 0) (then (unreachable)))
    (memory.size)))
(; EXPECTED
0 = func[2] probed
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i64)))
  (type (;3;) (func (param i32)))
  (type (;4;) (func (param i32 i64)))
  (type (;5;) (func (param i32 i32) (result i32)))
  (type (;6;) (func (param i64) (result i32)))
  (type (;7;) (func (result i64)))
  (type (;8;) (func (param i32) (result i64)))
  (type (;9;) (func (param i32 i32)))
  (import "host" "f" (func $host (;0;) (type 0)))
  (memory (;0;) 19)
  (global (;0;) (mut i32) i32.const 65536)
  (global (;1;) i32 i32.const 18)
  (global (;2;) (mut i64) i64.const 0)
  (global (;3;) (mut i32) i32.const 1024)
  (global (;4;) (mut i32) i32.const 1088)
  (global (;5;) (mut i64) i64.const 0)
  (global (;6;) (mut i64) i64.const -1)
  (global (;7;) (mut i64) i64.const 4096)
  (global (;8;) (mut i64) i64.const 0)
  (global (;9;) (mut i32) i32.const 0)
  (export "run" (func $probed))
  (export "kperf.memory" (memory 0))
  (export "kperf.state.instructions" (global 2))
  (export "kperf.take" (func $kperf.take))
  (start $plain)
  (func $plain (;1;) (type 0)
    (local i32)
    global.get 3
    local.set 0
    global.get 2
    i64.const 3
    i64.add
    global.set 2
    memory.size
    i32.const 18
    i32.sub
    call $kperf.inside.grow
    drop
    call $host
    call $kperf.inside.after
    global.get 3
    local.get 0
    i32.ne
    if ;; label = @1
      local.get 0
      call $kperf.unwind
    end
  )
  (func $probed (;2;) (type 1) (param i32) (result i32)
    (local i32 i32)
    global.get 0
    global.get 3
    i32.add
    local.set 2
    local.get 2
    local.get 2
    i64.load offset=16
    global.get 2
    global.get 5
    i64.sub
    global.get 7
    i64.mul
    i64.add
    i64.store offset=16
    global.get 2
    global.set 5
    local.get 2
    i32.load offset=8
    local.set 1
    global.get 0
    local.get 1
    i32.add
    local.set 2
    local.get 2
    i32.load
    i32.const 0
    i32.ne
    global.get 5
    global.get 6
    i64.ge_u
    i32.or
    if ;; label = @1
      i32.const 0
      call $kperf.enter
      local.set 1
    else
      local.get 1
      global.set 3
      local.get 2
      local.get 2
      i64.load offset=24
      i64.const 1
      i64.add
      i64.store offset=24
    end
    block (result i32) ;; label = @1
      global.get 2
      i64.const 1
      i64.add
      global.set 2
      call $plain
      global.get 2
      i64.const 2
      i64.add
      global.set 2
      local.get 0
      if ;; label = @2
        unreachable
      end
      global.get 2
      i64.const 1
      i64.add
      global.set 2
      memory.size
      i32.const 18
      i32.sub
    end
    global.get 0
    global.get 3
    i32.add
    local.set 2
    local.get 2
    local.get 2
    i64.load offset=16
    global.get 2
    global.get 5
    i64.sub
    global.get 7
    i64.mul
    i64.add
    i64.store offset=16
    global.get 2
    global.set 5
    local.get 1
    i32.const 3
    i32.and
    global.get 5
    global.get 6
    i64.ge_u
    i32.or
    if ;; label = @1
      local.get 1
      call $kperf.leave
    else
      global.get 0
      local.get 1
      i32.add
      i32.load offset=4
      global.set 3
    end
  )
)

;)
