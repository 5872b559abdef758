;; --probe inline
;; Hints move with their instructions, in functions with and without a probe.
(module
  (import "host" "f" (func $import))
  (type $pair (func (result i32 i32)))
  (tag $t (param i32))
  (func $f (export "f") (param i32) (local i32 i64)
    (call $import)
    (@metadata.code.branch_hint "\01") (if (local.get 0) (then
      (call $import)
      (block $b (@metadata.code.branch_hint "\00") (br_if $b (local.get 0)) (call $h (i32.const 1))))))
  (func $g (export "g") (param i32) (result i32 i32)
    (block $out (result i32)
      (try_table (result i32) (catch $t $out) (catch $t $out)
        (@metadata.code.branch_hint "\00") (br_if $out (i32.const 7) (local.get 0))))
    (i32.const 0))
  (func $h (param i32)
    (call $import)
    (@metadata.code.branch_hint "\01") (if (local.get 0) (then (call $import)))))
(; EXPECTED
0 = func[1] f
1 = func[2] g
2 = func[3] h
(module
  (type $pair (;0;) (func (result i32 i32)))
  (type (;1;) (func))
  (type (;2;) (func (param i32)))
  (type (;3;) (func (param i32) (result i32 i32)))
  (type (;4;) (func (result i64)))
  (type (;5;) (func (param i32 i32)))
  (type (;6;) (func (param i64) (result i32)))
  (type (;7;) (func (param i32) (result i32)))
  (type (;8;) (func (result i32)))
  (type (;9;) (func (param i32) (result i64)))
  (type (;10;) (func (param i64)))
  (type (;11;) (func (param i32 i64)))
  (type (;12;) (func (result i32 (ref exn))))
  (import "host" "f" (func $import (;0;) (type 1)))
  (import "kperf:host" "now" (func $kperf:host.now (;1;) (type 4) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;2;) (type 5) (param i32 i32)))
  (memory (;0;) 2 2 shared)
  (tag $t (;0;) (type 2) (param i32))
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 1)
  (global (;3;) i32 i32.const 131048)
  (export "f" (func $f))
  (export "g" (func $g))
  (export "kperf.memory" (memory 0))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $f (;3;) (type 2) (param i32)
    (local i32 i64 i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 4
        i32.wrap_i64
        i32.const 8
        i32.load
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 4
        i32.wrap_i64
        i32.const 0
        i32.store
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
      i64.load
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i32.const 0
        call $kperf.enter_inside
        local.set 3
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block ;; label = @1
      call $import
      local.get 3
      i64.const 32
      i64.shr_u
      global.get 0
      i64.const 32
      i64.shr_u
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        local.get 3
        i64.const 32
        i64.shr_u
        i32.wrap_i64
        call $kperf.unwind
      end
      local.get 0
      (@metadata.code.branch_hint "\01")
      if ;; label = @2
        call $import
        local.get 3
        i64.const 32
        i64.shr_u
        global.get 0
        i64.const 32
        i64.shr_u
        i64.ne
        (@metadata.code.branch_hint "\00")
        if ;; label = @3
          local.get 3
          i64.const 32
          i64.shr_u
          i32.wrap_i64
          call $kperf.unwind
        end
        block ;; label = @3
          local.get 0
          (@metadata.code.branch_hint "\00")
          br_if 0 (;@3;)
          i32.const 1
          call $h
        end
      end
    end
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 4
        local.get 3
        i64.sub
        local.tee 5
        i32.const 8
        i64.load32_u
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 5
        i32.wrap_i64
        i32.const -2147483648
        i32.store
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
  (func $g (;4;) (type 3) (param i32) (result i32 i32)
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
        i32.const 1
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
    block (type $pair) (result i32 i32) ;; label = @1
      block (result i32) ;; label = @2
        block (result i32) ;; label = @3
          block (result i32) ;; label = @4
            block (result i32) ;; label = @5
              try_table (result i32) (catch $t 0 (;@5;)) (catch $t 1 (;@4;)) ;; label = @6
                i32.const 7
                local.get 0
                (@metadata.code.branch_hint "\00")
                br_if 4 (;@2;)
              end
              br 2 (;@3;)
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
            br 2 (;@2;)
          end
          local.get 1
          i64.const 32
          i64.shr_u
          global.get 0
          i64.const 32
          i64.shr_u
          i64.ne
          (@metadata.code.branch_hint "\00")
          if ;; label = @4
            local.get 1
            i64.const 32
            i64.shr_u
            i32.wrap_i64
            call $kperf.unwind
          end
          br 1 (;@2;)
        end
      end
      i32.const 0
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
        i32.const 1
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
  (func $h (;5;) (type 2) (param i32)
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
        i32.const 2
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
      local.get 0
      (@metadata.code.branch_hint "\01")
      if ;; label = @2
        call $import
        local.get 1
        i64.const 32
        i64.shr_u
        global.get 0
        i64.const 32
        i64.shr_u
        i64.ne
        (@metadata.code.branch_hint "\00")
        if ;; label = @3
          local.get 1
          i64.const 32
          i64.shr_u
          i32.wrap_i64
          call $kperf.unwind
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
)

;)
