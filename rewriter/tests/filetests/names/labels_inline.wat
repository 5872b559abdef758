;; --probe inline
;; The recorder's code in the middle of a body has labels too: names of labels are left out there.
(module
  (import "host" "f" (func $import))
  (func $unwinds (param i32)
    (call $import)
    (block $outer (block $inner (br_if $outer (local.get 0)))))
  (func $jumps (param i32)
    (if (local.get 0) (then (return_call $plain (i32.const 1))))
    (block $outer (block $inner (br_if $outer (local.get 0)))))
  (func $plain (param i32)
    (block $outer (block $inner (br_if $outer (local.get 0))))))
(; EXPECTED
0 = func[1] unwinds
1 = func[2] jumps
2 = func[3] plain
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32)))
  (type (;2;) (func (result i64)))
  (type (;3;) (func (param i32 i32)))
  (type (;4;) (func (param i64) (result i32)))
  (type (;5;) (func (param i32) (result i32)))
  (type (;6;) (func (result i32)))
  (type (;7;) (func (param i32) (result i64)))
  (type (;8;) (func (param i64)))
  (type (;9;) (func (param i32 i64)))
  (import "host" "f" (func $import (;0;) (type 0)))
  (import "kperf:host" "now" (func $kperf:host.now (;1;) (type 2) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;2;) (type 3) (param i32 i32)))
  (memory (;0;) 2 2 shared)
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 1)
  (global (;3;) i32 i32.const 131048)
  (export "kperf.memory" (memory 0))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $unwinds (;3;) (type 1) (param i32)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 2
        i32.wrap_i64
        i32.const 8
        i32.load
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        i32.const 0
        i32.store
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
      i64.load
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
    block ;; label = @1
      call $import
      local.get 1
      i64.const 32
      i64.shr_u
      global.get 0
      i64.const 32
      i64.shr_u
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        local.get 1
        i64.const 32
        i64.shr_u
        i32.wrap_i64
        call $kperf.unwind
      end
      block ;; label = @2
        block ;; label = @3
          local.get 0
          br_if 1 (;@2;)
        end
      end
    end
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 2
        local.get 1
        i64.sub
        local.tee 3
        i32.const 8
        i64.load32_u
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 3
        i32.wrap_i64
        i32.const -2147483648
        i32.store
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
  (func $jumps (;4;) (type 1) (param i32)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 2
        i32.wrap_i64
        i32.const 8
        i32.load
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        i32.const 1
        i32.store
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
      i64.load
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
    block ;; label = @1
      local.get 0
      if ;; label = @2
        i32.const 1
        block ;; label = @3
          block ;; label = @4
            global.get 0
            local.tee 2
            local.get 1
            i64.sub
            local.tee 3
            i32.const 8
            i64.load32_u
            i64.ge_u
            (@metadata.code.branch_hint "\00")
            br_if 0 (;@4;)
            local.get 3
            i32.wrap_i64
            i32.const -2147483648
            i32.store
            local.get 2
            i64.const 4294967292
            i64.sub
            global.set 0
            br 1 (;@3;)
          end
          local.get 1
          i64.const 0
          i64.lt_s
          (@metadata.code.branch_hint "\01")
          br_if 0 (;@3;)
          local.get 1
          call $kperf.leave_inside
        end
        return_call $plain
      end
      block ;; label = @2
        block ;; label = @3
          local.get 0
          br_if 1 (;@2;)
        end
      end
    end
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 2
        local.get 1
        i64.sub
        local.tee 3
        i32.const 8
        i64.load32_u
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 3
        i32.wrap_i64
        i32.const -2147483648
        i32.store
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
  (func $plain (;5;) (type 1) (param i32)
    (local i64 i64 i64)
    block ;; label = @1
      i32.const 8
      i32.load
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      i64.const -4294967296
      local.set 1
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i32.const 2
        call $kperf.enter_inside
        local.set 1
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block ;; label = @1
      block $outer
        block $inner
          local.get 0
          br_if $outer
        end
      end
    end
    block ;; label = @1
      block ;; label = @2
        local.get 1
        i64.const 0
        i64.ne
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        global.get 0
        local.tee 2
        i32.wrap_i64
        i32.const 8
        i32.load
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        i32.const 2
        i32.const -2147483647
        i32.add
        i32.store
        local.get 2
        i64.const 4
        i64.add
        global.set 0
        br 1 (;@1;)
      end
      local.get 1
      i64.const 0
      i64.lt_s
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      i32.const 2
      local.get 1
      call $kperf.leave_late
    end
  )
)

;)
