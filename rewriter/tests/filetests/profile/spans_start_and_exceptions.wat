;; --probe profile-spans --id-base 100
;; A slot tells the call from others. The module's own start function is called behind the recorder's; where something is
;; caught, what is above is cleared.
(module
  (import "host" "f" (func $f))
  (tag $e)
  (func $main (block $caught (try_table (catch $e $caught) (call $throws))) (call $f))
  (func $throws (throw $e))
  (start $main))
(; EXPECTED
100 = func[1] main
101 = func[2] throws
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32 i32)))
  (type (;2;) (func (param i32 i32) (result i32)))
  (type (;3;) (func (param i32)))
  (type (;4;) (func (param i32) (result i32)))
  (import "host" "f" (func $f (;0;) (type 0)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 1) (param i32 i32)))
  (memory (;0;) 17 17 shared)
  (tag $e (;0;) (type 0))
  (global (;0;) (mut i32) i32.const 64)
  (global (;1;) i32 i32.const 100)
  (global (;2;) i32 i32.const 2)
  (export "kperf.memory" (memory 0))
  (export "kperf.state.top" (global 0))
  (export "kperf.state.id_base" (global 1))
  (export "kperf.state.functions" (global 2))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $main (;2;) (type 0)
    (local i32)
    global.get 0
    local.tee 0
    i32.const 100
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.store
    i32.const 1048576
    i32.const 1048576
    i64.load
    i64.const 1
    i64.add
    i64.store
    local.get 0
    i32.const 1048576
    i32.load
    i32.store offset=4
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
      block ;; label = @2
        block ;; label = @3
          block ;; label = @4
            try_table (catch $e 0 (;@4;)) ;; label = @5
              call $throws
            end
            br 1 (;@3;)
          end
          local.get 0
          i32.load offset=8
          if ;; label = @4
            local.get 0
            call $kperf.unwind
          end
          br 1 (;@2;)
        end
      end
      call $f
      local.get 0
      i32.load offset=8
      if ;; label = @2
        local.get 0
        call $kperf.unwind
      end
    end
    local.get 0
    i64.const 0
    i64.store
    local.get 0
    global.set 0
  )
  (func $throws (;3;) (type 0)
    (local i32)
    global.get 0
    local.tee 0
    i32.const 101
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.store
    i32.const 1048584
    i32.const 1048584
    i64.load
    i64.const 1
    i64.add
    i64.store
    block ;; label = @1
      throw $e
    end
    local.get 0
    i64.const 0
    i64.store
  )
)

;)
