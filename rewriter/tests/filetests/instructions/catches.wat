;; --probe inline --clock-instructions --skip plain
;; What is caught comes from functions that have counted: the local that holds the count is read again.
(module
  (tag $e (param i32))
  (import "host" "f" (func $host))
  (func $catches (param $x i32) (result i32)
    (block $h (result i32)
      (try_table (result i32) (catch $e $h)
        (call $host)
        (i32.const 1))
      (return))
    (loop $l (br_if $l (i32.eqz (local.get $x)))))
  (func $throws (if (i32.const 1) (then (throw $e (i32.const 2)))) (nop))
  (func $plain (param $x i32)
    (block $h (result i32)
      (loop $l
        (try_table (catch_all $l) (call $host))
        (loop $m (br_if $m (local.get $x))))
      (return))
    (drop)))
(; EXPECTED
0 = func[1] catches
1 = func[2] throws
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32 i32)))
  (type (;4;) (func (result i64)))
  (type (;5;) (func (param i64) (result i32)))
  (type (;6;) (func (result i32)))
  (type (;7;) (func (param i32) (result i64)))
  (type (;8;) (func (param i64)))
  (type (;9;) (func (result i32 (ref exn))))
  (import "host" "f" (func $host (;0;) (type 1)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 3) (param i32 i32)))
  (memory (;0;) 2 2 shared)
  (tag $e (;0;) (type 0) (param i32))
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 9223372036854775807)
  (global (;3;) (mut i64) i64.const 0)
  (global (;4;) i32 i32.const 131048)
  (export "kperf.memory" (memory 0))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.state.instructions" (global 3))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $catches (;2;) (type 2) (param $x i32) (result i32)
    (local i64) (local $kperf.token i64) (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 3
        global.get 2
        i64.sub
        local.tee 5
        i64.const 1073741824
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
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
        local.get 5
        i32.const 0
        i64.extend_i32_u
        i64.const 32
        i64.shl
        i64.const 1073741824
        i64.or
        i64.or
        i64.store
        local.get 3
        i64.const 4294967304
        i64.add
        local.tee 3
        global.set 0
        local.get 3
        i64.const -4294967296
        i64.and
        local.set $kperf.token
        global.get 2
        local.get 5
        i64.add
        global.set 2
        br 1 (;@1;)
      end
      i64.const -4294967296
      local.set $kperf.token
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i32.const 0
        call $kperf.enter_inside
        local.set $kperf.token
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block (result i32) ;; label = @1
      global.get 3
      i64.const 1
      i64.add
      local.tee 1
      global.set 3
      block (result i32) ;; label = @2
        block (result i32) ;; label = @3
          block (result i32) ;; label = @4
            try_table (result i32) (catch $e 0 (;@4;)) ;; label = @5
              call $host
              local.get $kperf.token
              i64.const 32
              i64.shr_u
              global.get 0
              i64.const 32
              i64.shr_u
              i64.ne
              (@metadata.code.branch_hint "\00")
              if ;; label = @6
                local.get $kperf.token
                i64.const 32
                i64.shr_u
                i32.wrap_i64
                call $kperf.unwind
              end
              global.get 3
              i64.const 1
              i64.add
              local.tee 1
              global.set 3
              i32.const 1
            end
            br 1 (;@3;)
          end
          local.get $kperf.token
          i64.const 32
          i64.shr_u
          global.get 0
          i64.const 32
          i64.shr_u
          i64.ne
          (@metadata.code.branch_hint "\00")
          if ;; label = @4
            local.get $kperf.token
            i64.const 32
            i64.shr_u
            i32.wrap_i64
            call $kperf.unwind
          end
          br 1 (;@2;)
        end
        br 1 (;@1;)
      end
      global.get 3
      local.set 1
      loop ;; label = @2
        local.get 1
        i64.const 3
        i64.add
        local.tee 1
        global.set 3
        local.get $x
        i32.eqz
        br_if 0 (;@2;)
      end
    end
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 3
        local.get $kperf.token
        i64.sub
        local.tee 4
        i32.const 8
        i64.load32_u
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        global.get 3
        global.get 2
        i64.sub
        local.tee 5
        i64.const 1073741824
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 4
        i32.wrap_i64
        local.get 5
        i64.const -9223372035781033984
        i64.or
        i64.store
        local.get 3
        i64.const 4294967288
        i64.sub
        global.set 0
        global.get 2
        local.get 5
        i64.add
        global.set 2
        br 1 (;@1;)
      end
      local.get $kperf.token
      i64.const 0
      i64.lt_s
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      local.get $kperf.token
      call $kperf.leave_inside
    end
  )
  (func $throws (;3;) (type 1)
    (local i64 i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 3
        global.get 2
        i64.sub
        local.tee 3
        i64.const 1073741824
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
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
        local.get 3
        i32.const 1
        i64.extend_i32_u
        i64.const 32
        i64.shl
        i64.const 1073741824
        i64.or
        i64.or
        i64.store
        local.get 1
        i64.const 4294967304
        i64.add
        local.tee 1
        global.set 0
        local.get 1
        i64.const -4294967296
        i64.and
        local.set 0
        global.get 2
        local.get 3
        i64.add
        global.set 2
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
        i32.const 1
        call $kperf.enter_inside
        local.set 0
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block ;; label = @1
      global.get 3
      i64.const 2
      i64.add
      global.set 3
      i32.const 1
      if ;; label = @2
        global.get 3
        i64.const 2
        i64.add
        global.set 3
        i32.const 2
        throw $e
      end
      nop
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
        global.get 3
        global.get 2
        i64.sub
        local.tee 3
        i64.const 1073741824
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        local.get 3
        i64.const -9223372035781033984
        i64.or
        i64.store
        local.get 1
        i64.const 4294967288
        i64.sub
        global.set 0
        global.get 2
        local.get 3
        i64.add
        global.set 2
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
  (func $plain (;4;) (type 0) (param $x i32)
    (local i64 i32)
    global.get 0
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.const 1
    i32.add
    local.set 2
    global.get 3
    local.set 1
    block (result i32) ;; label = @1
      loop ;; label = @2
        global.get 3
        i64.const 1
        i64.add
        local.tee 1
        global.set 3
        block ;; label = @3
          block ;; label = @4
            try_table (catch_all 0 (;@4;)) ;; label = @5
              call $host
              local.get 2
              i32.const 1
              i32.sub
              global.get 0
              i64.const 32
              i64.shr_u
              i32.wrap_i64
              i32.lt_u
              (@metadata.code.branch_hint "\00")
              if ;; label = @6
                i32.const 0
                local.get 2
                i32.const 1
                i32.sub
                call $kperf.close
              end
              global.get 3
              local.set 1
            end
            br 1 (;@3;)
          end
          local.get 2
          i32.const 1
          i32.sub
          global.get 0
          i64.const 32
          i64.shr_u
          i32.wrap_i64
          i32.lt_u
          (@metadata.code.branch_hint "\00")
          if ;; label = @4
            i32.const 0
            local.get 2
            i32.const 1
            i32.sub
            call $kperf.close
          end
          br 1 (;@2;)
        end
        loop ;; label = @3
          local.get 1
          i64.const 2
          i64.add
          local.tee 1
          global.set 3
          local.get $x
          br_if 0 (;@3;)
        end
      end
      return
    end
    drop
  )
)

;)
