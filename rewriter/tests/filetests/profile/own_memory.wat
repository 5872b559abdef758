;; --probe own-profile --whole
;; The recorder's memory isn't shared.
(module
  (memory 1)
  (func $f (export "f") (call $g))
  (func $g))
(; EXPECTED
0 = func[0] f
1 = func[1] g
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32 i32)))
  (type (;2;) (func (param i32 i32) (result i32)))
  (type (;3;) (func (param i32)))
  (type (;4;) (func (param i32) (result i32)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 1) (param i32 i32)))
  (memory (;0;) 1)
  (memory (;1;) 17 17)
  (global (;0;) (mut i32) i32.const 64)
  (global (;1;) i32 i32.const 0)
  (global (;2;) i32 i32.const 2)
  (export "f" (func $f))
  (export "kperf.memory" (memory 1))
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
    i64.store 1
    i32.const 1048576
    i32.const 1048576
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    local.get 0
    i32.const 1048576
    i32.load 1
    i32.store 1 offset=4
    local.get 0
    i32.const 8
    i32.add
    i32.const 1048560
    local.get 0
    i32.const 1048560
    i32.lt_u
    select
    global.set 0
    block ;; label = @1
      call $g
    end
    local.get 0
    i64.const 0
    i64.store 1
    local.get 0
    global.set 0
  )
  (func $g (;2;) (type 0)
    (local i32)
    global.get 0
    local.tee 0
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
    block ;; label = @1
    end
    local.get 0
    i64.const 0
    i64.store 1
  )
  (func $kperf.start (;3;) (type 0)
    i32.const 64
    i32.const 0
    call $kperf:host.flush
  )
  (func $kperf.enter (;4;) (type 2) (param i32 i32) (result i32)
    (local i32)
    global.get 0
    local.tee 2
    local.get 0
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.store 1
    local.get 1
    local.get 1
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    local.get 2
    local.get 1
    i32.load 1
    i32.store 1 offset=4
    local.get 2
    call $kperf.above
    global.set 0
    local.get 2
  )
  (func $kperf.leave (;5;) (type 3) (param i32)
    local.get 0
    i64.const 0
    i64.store 1
    local.get 0
    global.set 0
  )
  (func $kperf.unwind (;6;) (type 3) (param i32)
    (local i32)
    local.get 0
    i32.const 8
    i32.add
    local.set 1
    block ;; label = @1
      loop ;; label = @2
        local.get 1
        i32.load 1
        i32.eqz
        br_if 1 (;@1;)
        local.get 1
        i64.const 0
        i64.store 1
        local.get 1
        i32.const 8
        i32.add
        local.set 1
        br 0 (;@2;)
      end
    end
    local.get 0
    call $kperf.above
    global.set 0
  )
  (func $kperf.above (;7;) (type 4) (param i32) (result i32)
    local.get 0
    i32.const 8
    i32.add
    i32.const 1048560
    local.get 0
    i32.const 1048560
    i32.lt_u
    select
  )
)

;)
