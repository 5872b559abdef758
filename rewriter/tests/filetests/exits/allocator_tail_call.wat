;; --probe inline --allocations
;; A tail call of an allocator leaves its handlers first.
(module
  (type $t (func (param i32) (result i32)))
  (tag $e (param i32))
  (func $thrower (type $t) (throw $e (local.get 0)))
  (func $malloc (export "malloc") (type $t)
    (block $h (result i32)
      (try_table (result i32) (catch $e $h)
        (if (i32.eqz (local.get 0)) (then (return (i32.const 8))))
        (return_call $thrower (local.get 0)))))
  (func $calloc (export "calloc") (param i32 i32) (result i32)
    (if (local.get 0) (then (return_call $malloc (local.get 1))))
    (return_call_ref $t (local.get 1) (ref.null $t))))
(; EXPECTED
0 = func[0] thrower
1 = func[1] malloc
2 = func[2] calloc
(module
  (type $t (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (param i32)))
  (type (;2;) (func (param i32 i32) (result i32)))
  (type (;3;) (func (result i64)))
  (type (;4;) (func (param i32 i32)))
  (type (;5;) (func))
  (type (;6;) (func (param i64) (result i32)))
  (type (;7;) (func (result i32)))
  (type (;8;) (func (param i32 i64 i64 i64)))
  (type (;9;) (func (param i32 i64 i64)))
  (type (;10;) (func (param i64)))
  (type (;11;) (func (param i32) (result i64)))
  (type (;12;) (func (param i32 i64)))
  (type (;13;) (func (result i32 (ref exn))))
  (import "kperf:host" "now" (func $kperf:host.now (;0;) (type 3) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 4) (param i32 i32)))
  (memory (;0;) 2 2 shared)
  (tag $e (;0;) (type 1) (param i32))
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 1)
  (global (;3;) (mut i32) i32.const 0)
  (global (;4;) i64 i64.const 0)
  (global (;5;) (mut i64) i64.const 0)
  (global (;6;) (mut i64) i64.const 2685821657736338717)
  (global (;7;) i32 i32.const 131048)
  (export "malloc" (func $malloc))
  (export "calloc" (func $calloc))
  (export "kperf.memory" (memory 0))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.state.allocator" (global 3))
  (export "kperf.state.sample" (global 4))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $thrower (;2;) (type $t) (param i32) (result i32)
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
        global.set 0
        br 1 (;@1;)
      end
      i64.const -1
      local.set 2
      i32.const 0
      i64.load
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
        local.set 2
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block (result i32) ;; label = @1
      local.get 0
      throw $e
    end
    block ;; label = @1
      local.get 2
      i64.const -1
      i64.eq
      br_if 0 (;@1;)
      block ;; label = @2
        i32.const 8
        i32.load
        i32.eqz
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        i32.const 0
        i32.const -2147483647
        i32.add
        i32.store
        local.get 2
        i64.const 4
        i64.add
        global.set 0
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
  (func $malloc (;3;) (type $t) (param i32) (result i32)
    (local i64 i64 i64 i64 i64 i32 i32)
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
    global.get 3
    i32.const 1
    i32.sub
    local.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.const 1
    i32.sub
    i32.ge_u
    if ;; label = @1
      local.get 1
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      global.set 3
    end
    local.get 0
    i64.extend_i32_u
    local.set 5
    block (result i32) ;; label = @1
      block ;; label = @2
        block (result i32) ;; label = @3
          block (result i32) ;; label = @4
            block (result i32) ;; label = @5
              try_table (result i32) (catch $e 0 (;@5;)) ;; label = @6
                local.get 0
                i32.eqz
                if ;; label = @7
                  i32.const 8
                  br 6 (;@1;)
                end
                local.get 0
                local.set 7
                local.get 1
                i64.const 32
                i64.shr_u
                i32.wrap_i64
                global.get 3
                i32.eq
                br_if 4 (;@2;)
                local.get 7
                block ;; label = @7
                  block ;; label = @8
                    global.get 0
                    local.tee 2
                    local.get 1
                    i64.sub
                    local.tee 3
                    i32.const 8
                    i64.load32_u
                    i64.ge_u
                    (@metadata.code.branch_hint "\00")
                    br_if 0 (;@8;)
                    local.get 3
                    i32.wrap_i64
                    i32.const -2147483648
                    i32.store
                    local.get 2
                    i64.const 4294967292
                    i64.sub
                    global.set 0
                    br 1 (;@7;)
                  end
                  local.get 1
                  i64.const 0
                  i64.lt_s
                  (@metadata.code.branch_hint "\01")
                  br_if 0 (;@7;)
                  local.get 1
                  call $kperf.leave_inside
                end
                return_call $thrower
              end
              br 1 (;@4;)
            end
            local.get 1
            i64.const 32
            i64.shr_u
            global.get 0
            i64.const 32
            i64.shr_u
            i64.ne
            (@metadata.code.branch_hint "\00")
            if ;; label = @5
              local.get 1
              i64.const 32
              i64.shr_u
              i32.wrap_i64
              call $kperf.unwind
            end
            br 1 (;@3;)
          end
        end
        br 1 (;@1;)
      end
      local.get 7
      call $thrower
    end
    local.tee 6
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
    local.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    global.get 3
    i32.eq
    if ;; label = @1
      local.get 1
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      i64.const 0
      local.get 5
      local.get 6
      i64.extend_i32_u
      call $kperf.allocated
    end
  )
  (func $calloc (;4;) (type 2) (param i32 i32) (result i32)
    (local i64 i64 i64 i64 i64 i32 i32 i32 i32 (ref null $t))
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 3
        i32.wrap_i64
        i32.const 8
        i32.load
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 3
        i32.wrap_i64
        i32.const 2
        i32.store
        local.get 3
        i64.const 4294967300
        i64.add
        local.tee 3
        global.set 0
        local.get 3
        i64.const -4294967296
        i64.and
        local.set 2
        br 1 (;@1;)
      end
      i64.const -4294967296
      local.set 2
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i32.const 2
        call $kperf.enter_inside
        local.set 2
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    global.get 3
    i32.const 1
    i32.sub
    local.get 2
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.const 1
    i32.sub
    i32.ge_u
    if ;; label = @1
      local.get 2
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      global.set 3
    end
    local.get 0
    i64.extend_i32_u
    local.get 1
    i64.extend_i32_u
    i64.mul
    local.set 6
    block (result i32) ;; label = @1
      block ;; label = @2
        local.get 0
        if ;; label = @3
          local.get 1
          local.set 9
          i32.const 0
          local.set 8
          local.get 2
          i64.const 32
          i64.shr_u
          i32.wrap_i64
          global.get 3
          i32.eq
          br_if 1 (;@2;)
          local.get 9
          block ;; label = @4
            block ;; label = @5
              global.get 0
              local.tee 3
              local.get 2
              i64.sub
              local.tee 4
              i32.const 8
              i64.load32_u
              i64.ge_u
              (@metadata.code.branch_hint "\00")
              br_if 0 (;@5;)
              local.get 4
              i32.wrap_i64
              i32.const -2147483648
              i32.store
              local.get 3
              i64.const 4294967292
              i64.sub
              global.set 0
              br 1 (;@4;)
            end
            local.get 2
            i64.const 0
            i64.lt_s
            (@metadata.code.branch_hint "\01")
            br_if 0 (;@4;)
            local.get 2
            call $kperf.leave_inside
          end
          return_call $malloc
        end
        local.get 1
        ref.null $t
        local.set 11
        local.set 10
        i32.const 1
        local.set 8
        local.get 2
        i64.const 32
        i64.shr_u
        i32.wrap_i64
        global.get 3
        i32.eq
        br_if 0 (;@2;)
        local.get 10
        local.get 11
        block ;; label = @3
          block ;; label = @4
            global.get 0
            local.tee 3
            local.get 2
            i64.sub
            local.tee 4
            i32.const 8
            i64.load32_u
            i64.ge_u
            (@metadata.code.branch_hint "\00")
            br_if 0 (;@4;)
            local.get 4
            i32.wrap_i64
            i32.const -2147483648
            i32.store
            local.get 3
            i64.const 4294967292
            i64.sub
            global.set 0
            br 1 (;@3;)
          end
          local.get 2
          i64.const 0
          i64.lt_s
          (@metadata.code.branch_hint "\01")
          br_if 0 (;@3;)
          local.get 2
          call $kperf.leave_inside
        end
        return_call_ref $t
        br 1 (;@1;)
      end
      local.get 8
      i32.const 0
      i32.eq
      if ;; label = @2
        local.get 9
        call $malloc
        br 1 (;@1;)
      end
      local.get 10
      local.get 11
      call_ref $t
    end
    local.tee 7
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 3
        local.get 2
        i64.sub
        local.tee 4
        i32.const 8
        i64.load32_u
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 4
        i32.wrap_i64
        i32.const -2147483648
        i32.store
        local.get 3
        i64.const 4294967292
        i64.sub
        global.set 0
        br 1 (;@1;)
      end
      local.get 2
      i64.const 0
      i64.lt_s
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      local.get 2
      call $kperf.leave_inside
    end
    local.get 2
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    global.get 3
    i32.eq
    if ;; label = @1
      local.get 2
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      i64.const 0
      local.get 6
      local.get 7
      i64.extend_i32_u
      call $kperf.allocated
    end
  )
)

;)
