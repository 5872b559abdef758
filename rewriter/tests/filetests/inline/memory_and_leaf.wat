;; --probe inline
;; The module's memory keeps its index, the recorder's comes behind it; a leaf keeps the position.
(module
  (memory (export "memory") 1)
  (global $g (mut i32) (i32.const 7))
  (func $leaf (export "leaf") (param i32) (result i32) (i32.load (local.get 0)))
  (func $caller (param i32) (result i32) (global.set $g (call $leaf (local.get 0))) (global.get $g)))
(; EXPECTED
0 = func[0] leaf
1 = func[1] caller
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
  (import "kperf:host" "now" (func $kperf:host.now (;0;) (type 1) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 2) (param i32 i32)))
  (memory (;0;) 1)
  (memory (;1;) 2 2 shared)
  (global $g (;0;) (mut i32) i32.const 7)
  (global (;1;) (mut i64) i64.const 0)
  (global (;2;) (mut i32) i32.const 0)
  (global (;3;) (mut i64) i64.const 1)
  (global (;4;) i32 i32.const 131048)
  (export "memory" (memory 0))
  (export "leaf" (func $leaf))
  (export "kperf.memory" (memory 1))
  (export "kperf.state.head" (global 1))
  (export "kperf.state.stack" (global 2))
  (export "kperf.state.last" (global 3))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $leaf (;2;) (type 0) (param i32) (result i32)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 1
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
        global.set 1
        br 1 (;@1;)
      end
      i64.const -1
      local.set 2
      i32.const 0
      i64.load 1
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i64.const 0
        i32.const 0
        call $kperf.enter
        i32.const -1
        i32.eq
        i64.extend_i32_u
        i64.sub
        global.get 1
        i64.const 4294967300
        i64.sub
        i64.or
        local.set 2
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block (result i32) ;; label = @1
      local.get 0
      i32.load
    end
    block ;; label = @1
      local.get 2
      i64.const -1
      i64.eq
      br_if 0 (;@1;)
      block ;; label = @2
        i32.const 8
        i32.load 1
        i32.eqz
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        i32.const 0
        i32.const -2147483647
        i32.add
        i32.store 1
        local.get 2
        i64.const 4
        i64.add
        global.set 1
        br 1 (;@1;)
      end
      local.get 2
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      i32.const 1
      i32.add
      call $kperf.leave
    end
  )
  (func $caller (;3;) (type 0) (param i32) (result i32)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 1
        local.tee 2
        i32.wrap_i64
        i32.const 8
        i32.load 1
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        i32.const 1
        i32.store 1
        local.get 2
        i64.const 4294967300
        i64.add
        local.tee 2
        global.set 1
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
        i32.const 1
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
      call $leaf
      global.set $g
      global.get $g
    end
    block ;; label = @1
      block ;; label = @2
        global.get 1
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
        global.set 1
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
)

;)
