;; --probe inline --only catches
;; What is caught is compared with the depth before anything is called.
(module
  (tag $e (param i32))
  (func $throws (throw $e (i32.const 1)))
  (func $catches (result i32)
    (block $h (result i32) (try_table (catch $e $h) (call $throws)) (i32.const 0))))
(; EXPECTED
0 = func[1] catches
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func))
  (type (;2;) (func (result i32)))
  (type (;3;) (func (result i64)))
  (type (;4;) (func (param i32 i32)))
  (type (;5;) (func (param i64) (result i32)))
  (type (;6;) (func (param i32) (result i32)))
  (type (;7;) (func (param i32) (result i64)))
  (type (;8;) (func (param i64)))
  (type (;9;) (func (param i32 i64)))
  (type (;10;) (func (result i32 (ref exn))))
  (import "kperf:host" "now" (func $kperf:host.now (;0;) (type 3) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 4) (param i32 i32)))
  (memory (;0;) 2 2 shared)
  (tag $e (;0;) (type 0) (param i32))
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
  (func $throws (;2;) (type 1)
    i32.const 1
    throw $e
  )
  (func $catches (;3;) (type 2) (result i32)
    (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 1
        i32.wrap_i64
        i32.const 8
        i32.load
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 1
        i32.wrap_i64
        i32.const 0
        i32.store
        local.get 1
        i64.const 4294967300
        i64.add
        local.tee 1
        global.set 0
        local.get 1
        i64.const -4294967296
        i64.and
        local.set 0
        br 1 (;@1;)
      end
      i64.const -4294967296
      local.set 0
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i32.const 0
        call $kperf.enter_inside
        local.set 0
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block (result i32) ;; label = @1
      block (result i32) ;; label = @2
        block ;; label = @3
          block (result i32) ;; label = @4
            try_table (catch $e 0 (;@4;)) ;; label = @5
              call $throws
            end
            br 1 (;@3;)
          end
          local.get 0
          i64.const 32
          i64.shr_u
          global.get 0
          i64.const 32
          i64.shr_u
          i64.ne
          (@metadata.code.branch_hint "\00")
          if ;; label = @4
            local.get 0
            i64.const 32
            i64.shr_u
            i32.wrap_i64
            call $kperf.unwind
          end
          br 1 (;@2;)
        end
        i32.const 0
      end
    end
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 1
        local.get 0
        i64.sub
        local.tee 2
        i32.const 8
        i64.load32_u
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        i32.const -2147483648
        i32.store
        local.get 1
        i64.const 4294967292
        i64.sub
        global.set 0
        br 1 (;@1;)
      end
      local.get 0
      i64.const 0
      i64.lt_s
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      local.get 0
      call $kperf.leave_inside
    end
  )
)

;)
