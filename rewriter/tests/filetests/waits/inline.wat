;; --probe inline --leaf-count
;; The wait may be long, so the function around it isn't one that calls nothing.
(module
  (memory 1 1 shared)
  (func $lock (param i32) (result i32)
    (memory.atomic.wait32 offset=4 (local.get 0) (i32.const 1) (i64.const -1))))
(; EXPECTED
0 = func[0] lock
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (result i64)))
  (type (;2;) (func (param i32 i32)))
  (type (;3;) (func))
  (type (;4;) (func (param i64) (result i32)))
  (type (;5;) (func (param i32)))
  (type (;6;) (func (result i32)))
  (type (;7;) (func (param i32) (result i64)))
  (type (;8;) (func (param i64)))
  (type (;9;) (func (param i32 i64)))
  (type (;10;) (func (param i32 i32 i64) (result i32)))
  (import "kperf:host" "now" (func $kperf:host.now (;0;) (type 1) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 2) (param i32 i32)))
  (memory (;0;) 1 1 shared)
  (memory (;1;) 2 2 shared)
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 1)
  (global (;3;) i32 i32.const 131048)
  (export "kperf.memory" (memory 1))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $lock (;2;) (type 0) (param i32) (result i32)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 2
        i32.wrap_i64
        i32.const 8
        i32.load 1
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        i32.const 0
        i32.store 1
        local.get 2
        i64.const 4294967300
        i64.add
        local.tee 2
        global.set 0
        local.get 2
        i64.const -4294967296
        i64.and
        local.set 1
        br 1 (;@1;)
      end
      i64.const -4294967296
      local.set 1
      i32.const 0
      i64.load 1
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i32.const 0
        call $kperf.enter_inside
        local.set 1
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block (result i32) ;; label = @1
      local.get 0
      i32.const 1
      i64.const -1
      call $memory.atomic.wait32
    end
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 2
        local.get 1
        i64.sub
        local.tee 3
        i32.const 8
        i64.load32_u 1
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 3
        i32.wrap_i64
        i32.const -2147483648
        i32.store 1
        local.get 2
        i64.const 4294967292
        i64.sub
        global.set 0
        br 1 (;@1;)
      end
      local.get 1
      i64.const 0
      i64.lt_s
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      local.get 1
      call $kperf.leave_inside
    end
  )
  (func $memory.atomic.wait32 (;20;) (type 10) (param i32 i32 i64) (result i32)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 4
        i32.wrap_i64
        i32.const 8
        i32.load 1
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 4
        i32.wrap_i64
        i32.const 1073741821
        i32.store 1
        local.get 4
        i64.const 4294967300
        i64.add
        local.tee 4
        global.set 0
        local.get 4
        i64.const -4294967296
        i64.and
        local.set 3
        br 1 (;@1;)
      end
      i64.const -4294967296
      local.set 3
      i32.const 0
      i64.load 1
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i32.const 1073741821
        call $kperf.enter_inside
        local.set 3
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    local.get 0
    local.get 1
    local.get 2
    memory.atomic.wait32 offset=4
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 4
        local.get 3
        i64.sub
        local.tee 5
        i32.const 8
        i64.load32_u 1
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 5
        i32.wrap_i64
        i32.const -2147483648
        i32.store 1
        local.get 4
        i64.const 4294967292
        i64.sub
        global.set 0
        br 1 (;@1;)
      end
      local.get 3
      i64.const 0
      i64.lt_s
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      local.get 3
      call $kperf.leave_inside
    end
  )
)

;)
