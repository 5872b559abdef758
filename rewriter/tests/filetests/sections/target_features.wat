;; --probe inline
;; Binaryen refuses what a module uses and doesn't name: a second memory, a shared one, a global that others may set.
(module
  (@custom "target_features" (after last) "\03+\0bbulk-memory-\07atomics+\08sign-ext")
  (memory 1)
  (func (export "f") (memory.fill (i32.const 0) (i32.const 0) (i32.const 0))))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (result i64)))
  (type (;2;) (func (param i32 i32)))
  (type (;3;) (func (param i64) (result i32)))
  (type (;4;) (func (param i32)))
  (type (;5;) (func (param i32) (result i32)))
  (type (;6;) (func (result i32)))
  (type (;7;) (func (param i32) (result i64)))
  (type (;8;) (func (param i64)))
  (type (;9;) (func (param i32 i64)))
  (import "kperf:host" "now" (func $kperf:host.now (;0;) (type 1) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 2) (param i32 i32)))
  (memory (;0;) 1)
  (memory (;1;) 2 2 shared)
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 1)
  (global (;3;) i32 i32.const 131048)
  (export "f" (func 2))
  (export "kperf.memory" (memory 1))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func (;2;) (type 0)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 1
        i32.wrap_i64
        i32.const 8
        i32.load 1
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 1
        i32.wrap_i64
        i32.const 0
        i32.store 1
        local.get 1
        i64.const 4294967300
        i64.add
        global.set 0
        br 1 (;@1;)
      end
      i64.const -1
      local.set 1
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
        global.get 0
        i64.const 4294967300
        i64.sub
        i64.or
        local.set 1
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block ;; label = @1
      i32.const 0
      i32.const 0
      i32.const 0
      memory.fill
    end
    block ;; label = @1
      local.get 1
      i64.const -1
      i64.eq
      br_if 0 (;@1;)
      block ;; label = @2
        i32.const 8
        i32.load 1
        i32.eqz
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 1
        i32.wrap_i64
        i32.const 0
        i32.const -2147483647
        i32.add
        i32.store 1
        local.get 1
        i64.const 4
        i64.add
        global.set 0
        br 1 (;@1;)
      end
      local.get 1
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      i32.const 1
      i32.add
      call $kperf.leave
    end
  )
  (@custom "target_features" (after code) "\05+\0bbulk-memory+\07atomics+\08sign-ext+\0bmultimemory+\0fmutable-globals")
)

;)
