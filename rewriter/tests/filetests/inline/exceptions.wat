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
  (type (;7;) (func (param i32 i32 i32)))
  (type (;8;) (func (result i32 (ref exn))))
  (import "kperf:host" "now" (func $kperf:host.now (;0;) (type 3) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 4) (param i32 i32)))
  (memory (;0;) 2 2 shared)
  (tag $e (;0;) (type 0) (param i32))
  (global (;0;) (mut i32) i32.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 1)
  (global (;3;) i32 i32.const 131044)
  (export "kperf.memory" (memory 0))
  (export "kperf.state.depth" (global 0))
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
    (local i32 i32)
    i32.const 64
    i32.load
    local.set 1
    i32.const 0
    i64.load
    global.get 2
    i64.eq
    local.get 1
    global.get 3
    i32.le_u
    i32.and
    if ;; label = @1
      local.get 1
      i32.const 0
      i32.store
      i32.const 64
      local.get 1
      i32.const 4
      i32.add
      local.tee 1
      i32.store
      global.get 0
      i32.const 1
      i32.add
      local.tee 0
      global.set 0
    else
      i32.const 0
      i64.load
      i64.const -1
      i64.eq
      if ;; label = @2
        i32.const -1
        local.set 0
      else
        i32.const 0
        call $kperf.enter
        local.set 0
        i32.const 64
        i32.load
        local.set 1
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
          global.get 0
          i32.ne
          if ;; label = @4
            local.get 0
            call $kperf.unwind
          end
          br 1 (;@2;)
        end
        i32.const 0
      end
    end
    i32.const 64
    i32.load
    local.set 1
    i32.const 0
    i64.load
    global.get 2
    i64.eq
    local.get 1
    global.get 3
    i32.le_u
    i32.and
    local.get 0
    global.get 0
    i32.eq
    i32.and
    if ;; label = @1
      local.get 1
      i32.const -2147483648
      i32.store
      i32.const 64
      local.get 1
      i32.const 4
      i32.add
      i32.store
      local.get 0
      i32.const 1
      i32.sub
      global.set 0
    else
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      if ;; label = @2
        local.get 0
        call $kperf.leave
      end
    end
  )
  (func $kperf.init (;4;) (type 1)
    i32.const 4096
    i32.const 0
    call $kperf:host.flush
    i32.const 64
    i32.const 4112
    i32.store
    call $kperf.now
    global.set 2
    i32.const 4096
    global.get 1
    i32.store
    i32.const 4100
    global.get 0
    i32.store
    i32.const 4104
    global.get 2
    i64.store
    i32.const 64
    i32.const 4112
    i32.store
  )
  (func $kperf.now (;5;) (type 3) (result i64)
    (local i64)
    i32.const 64
    i32.load
    i32.eqz
    if ;; label = @1
      call $kperf.init
    end
    i32.const 0
    i64.load
    local.set 0
    local.get 0
    i64.eqz
    if ;; label = @1
      call $kperf:host.now
      local.set 0
    end
    local.get 0
  )
  (func $kperf.flush (;6;) (type 1)
    (local i32)
    i32.const 64
    i32.load
    i32.const 4096
    i32.sub
    local.set 0
    local.get 0
    i32.const 16
    i32.gt_s
    if ;; label = @1
      i32.const 4096
      local.get 0
      call $kperf:host.flush
      i32.const 4096
      global.get 1
      i32.store
      i32.const 4100
      global.get 0
      i32.store
      i32.const 4104
      global.get 2
      i64.store
      i32.const 64
      i32.const 4112
      i32.store
    end
  )
  (func $kperf.make_room (;7;) (type 5) (param i64) (result i32)
    (local i32 i64)
    i32.const 64
    i32.load
    local.set 1
    local.get 1
    global.get 3
    i32.gt_u
    if ;; label = @1
      call $kperf.flush
      i32.const 64
      i32.load
      local.set 1
    end
    local.get 0
    global.get 2
    i64.sub
    local.set 2
    local.get 2
    i64.const 0
    i64.gt_s
    if ;; label = @1
      local.get 2
      i64.const 1073741824
      i64.lt_u
      if ;; label = @2
        local.get 1
        i32.const 1073741824
        local.get 2
        i32.wrap_i64
        i32.or
        i32.store
        local.get 1
        i32.const 4
        i32.add
        local.set 1
      else
        local.get 1
        i32.const -536870912
        i32.store
        local.get 1
        local.get 2
        i64.store offset=4
        local.get 1
        i32.const 12
        i32.add
        local.set 1
      end
      local.get 0
      global.set 2
      i32.const 64
      local.get 1
      i32.store
    end
    local.get 1
  )
  (func $kperf.put (;8;) (type 0) (param i32)
    (local i32 i64)
    call $kperf.now
    local.set 2
    local.get 2
    i64.const -1
    i64.eq
    if ;; label = @1
      return
    end
    local.get 2
    call $kperf.make_room
    local.set 1
    local.get 1
    local.get 0
    i32.store
    i32.const 64
    local.get 1
    i32.const 4
    i32.add
    i32.store
  )
  (func $kperf.enter (;9;) (type 6) (param i32) (result i32)
    (local i32 i64 i64)
    call $kperf.now
    local.set 2
    local.get 2
    i64.const -1
    i64.eq
    if ;; label = @1
      i32.const -1
      return
    end
    i32.const 64
    i32.load
    local.set 1
    local.get 2
    global.get 2
    i64.ne
    local.get 1
    global.get 3
    i32.gt_u
    i32.or
    if ;; label = @1
      local.get 2
      call $kperf.make_room
      local.set 1
    end
    local.get 1
    local.get 0
    i32.store
    i32.const 64
    local.get 1
    i32.const 4
    i32.add
    i32.store
    global.get 0
    i32.const 1
    i32.add
    global.set 0
    global.get 0
  )
  (func $kperf.leave (;10;) (type 0) (param i32)
    (local i32 i64 i64)
    local.get 0
    global.get 0
    i32.ne
    local.get 0
    i32.eqz
    i32.or
    if ;; label = @1
      local.get 0
      call $kperf.heal
      i32.eqz
      if ;; label = @2
        return
      end
    end
    call $kperf.now
    local.set 2
    local.get 2
    i64.const -1
    i64.eq
    if ;; label = @1
      return
    end
    i32.const 64
    i32.load
    local.set 1
    local.get 2
    global.get 2
    i64.ne
    local.get 1
    global.get 3
    i32.gt_u
    i32.or
    if ;; label = @1
      local.get 2
      call $kperf.make_room
      local.set 1
    end
    local.get 1
    i32.const -2147483648
    i32.store
    i32.const 64
    local.get 1
    i32.const 4
    i32.add
    i32.store
    global.get 0
    i32.const 1
    i32.sub
    global.set 0
  )
  (func $kperf.heal (;11;) (type 6) (param i32) (result i32)
    local.get 0
    i32.eqz
    if ;; label = @1
      global.get 0
      i32.const 0
      i32.ne
      return
    end
    local.get 0
    global.get 0
    i32.gt_u
    if ;; label = @1
      i32.const 0
      return
    end
    i32.const 0
    local.get 0
    call $kperf.close
    i32.const 1
  )
  (func $kperf.unwind (;12;) (type 0) (param i32)
    local.get 0
    global.get 0
    i32.eq
    if ;; label = @1
      return
    end
    local.get 0
    i32.eqz
    if ;; label = @1
      return
    end
    i32.const 0
    local.get 0
    call $kperf.close
  )
  (func $kperf.close (;13;) (type 4) (param i32 i32)
    local.get 1
    global.get 0
    i32.ge_u
    if ;; label = @1
      return
    end
    i32.const -1073741824
    local.get 0
    i32.const 7
    i32.and
    i32.const 26
    i32.shl
    local.get 1
    i32.const 67108863
    i32.and
    i32.or
    i32.or
    call $kperf.put
    local.get 1
    global.set 0
  )
  (func $kperf.switch (;14;) (type 0) (param i32)
    local.get 0
    global.get 1
    i32.eq
    if ;; label = @1
      return
    end
    local.get 0
    i32.const 768
    i32.ge_u
    if ;; label = @1
      return
    end
    i32.const -469762048
    local.get 0
    i32.or
    call $kperf.put
    global.get 1
    i32.const 2
    i32.shl
    global.get 0
    i32.store offset=1024
    local.get 0
    i32.const 2
    i32.shl
    i32.load offset=1024
    global.set 0
    local.get 0
    global.set 1
  )
  (func $kperf.mark (;15;) (type 0) (param i32)
    i32.const -402653184
    local.get 0
    i32.const 67108863
    i32.and
    i32.or
    call $kperf.put
  )
  (func $kperf.depth (;16;) (type 2) (result i32)
    global.get 0
  )
)

;)
