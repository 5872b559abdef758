;; --probe inline --whole
;; The recorder's functions, with their indices moved behind those of the module.
(module
  (memory 1)
  (global i32 (i32.const 7))
  (func $f))
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
  (global (;0;) i32 i32.const 7)
  (global (;1;) (mut i64) i64.const 0)
  (global (;2;) (mut i32) i32.const 0)
  (global (;3;) (mut i64) i64.const 1)
  (global (;4;) i32 i32.const 131048)
  (export "kperf.memory" (memory 1))
  (export "kperf.state.head" (global 1))
  (export "kperf.state.stack" (global 2))
  (export "kperf.state.last" (global 3))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $f (;2;) (type 0)
    (local i64 i64 i64)
    block ;; label = @1
      i32.const 8
      i32.load 1
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      i64.const -4294967296
      local.set 0
      i32.const 0
      i64.load 1
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
    block ;; label = @1
    end
    block ;; label = @1
      block ;; label = @2
        local.get 0
        i64.const 0
        i64.ne
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        global.get 1
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
        i32.const -2147483647
        i32.add
        i32.store 1
        local.get 1
        i64.const 4
        i64.add
        global.set 1
        br 1 (;@1;)
      end
      local.get 0
      i64.const 0
      i64.lt_s
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      i32.const 0
      local.get 0
      call $kperf.leave_late
    end
  )
  (func $kperf.init (;3;) (type 0)
    i32.const 4096
    i32.const 0
    call $kperf:host.flush
    global.get 1
    i64.const -4294967296
    i64.and
    i32.const 4112
    i64.extend_i32_u
    i64.or
    global.set 1
    i32.const 0
    i64.load 1
    global.set 3
    global.get 3
    i64.const 1
    i64.add
    i64.const 2
    i64.lt_u
    if ;; label = @1
      call $kperf:host.now
      global.set 3
    end
    i32.const 4096
    global.get 2
    i32.store 1
    i32.const 4100
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.store 1
    i32.const 4104
    global.get 3
    i64.store 1
    global.get 1
    i64.const -4294967296
    i64.and
    i32.const 4112
    i64.extend_i32_u
    i64.or
    global.set 1
  )
  (func $kperf.now (;4;) (type 1) (result i64)
    (local i64)
    global.get 1
    i32.wrap_i64
    i32.eqz
    if ;; label = @1
      call $kperf.init
    end
    i32.const 0
    i64.load 1
    local.set 0
    local.get 0
    i64.eqz
    if ;; label = @1
      call $kperf:host.now
      local.set 0
    end
    local.get 0
  )
  (func $kperf.flush (;5;) (type 0)
    (local i32)
    global.get 1
    i32.wrap_i64
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
      global.get 2
      i32.store 1
      i32.const 4100
      global.get 1
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      i32.store 1
      i32.const 4104
      global.get 3
      i64.store 1
      global.get 1
      i64.const -4294967296
      i64.and
      i32.const 4112
      i64.extend_i32_u
      i64.or
      global.set 1
    end
  )
  (func $kperf.make_room (;6;) (type 3) (param i64) (result i32)
    (local i32 i64 i64)
    global.get 1
    i32.wrap_i64
    local.set 1
    local.get 1
    global.get 4
    i32.ge_u
    if ;; label = @1
      i32.const 0
      i64.load 1
      local.set 3
      call $kperf.flush
      local.get 3
      i32.const 0
      i64.load 1
      i64.gt_u
      if ;; label = @2
        call $kperf:host.now
        local.set 0
      end
      global.get 1
      i32.wrap_i64
      local.set 1
    end
    local.get 0
    global.get 3
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
        i32.store 1
        local.get 1
        i32.const 4
        i32.add
        local.set 1
      else
        local.get 1
        local.get 2
        i64.store 1 offset=4
        local.get 1
        i32.const -536870912
        i32.store 1
        local.get 1
        i32.const 12
        i32.add
        local.set 1
      end
      local.get 0
      global.set 3
      global.get 1
      i64.const -4294967296
      i64.and
      local.get 1
      i64.extend_i32_u
      i64.or
      global.set 1
    end
    i32.const 8
    i32.load 1
    i32.eqz
    if ;; label = @1
      local.get 0
      i64.const 0
      i64.ne
      i32.const 0
      i64.load 1
      local.get 0
      i64.eq
      i32.and
      if ;; label = @2
        i32.const 8
        global.get 4
        i32.atomic.rmw.xchg 1
        drop
        i32.const 0
        i64.load 1
        local.get 0
        i64.ne
        if ;; label = @3
          i32.const 8
          i32.const 0
          i32.atomic.store 1
        end
      end
    end
    local.get 1
  )
  (func $kperf.put (;7;) (type 4) (param i32)
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
    i32.store 1
    global.get 1
    i64.const -4294967296
    i64.and
    local.get 1
    i32.const 4
    i32.add
    i64.extend_i32_u
    i64.or
    global.set 1
  )
  (func $kperf.enter (;8;) (type 5) (param i32) (result i32)
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
    local.get 2
    call $kperf.make_room
    local.set 1
    local.get 1
    local.get 0
    i32.store 1
    global.get 1
    i64.const -4294967296
    i64.and
    local.get 1
    i32.const 4
    i32.add
    i64.extend_i32_u
    i64.or
    global.set 1
    global.get 1
    i64.const 4294967295
    i64.and
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.const 32
    i64.shl
    i64.or
    global.set 1
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
  )
  (func $kperf.leave (;9;) (type 4) (param i32)
    (local i32 i64 i64)
    local.get 0
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
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
    local.get 2
    call $kperf.make_room
    local.set 1
    local.get 1
    i32.const -2147483648
    i32.store 1
    global.get 1
    i64.const -4294967296
    i64.and
    local.get 1
    i32.const 4
    i32.add
    i64.extend_i32_u
    i64.or
    global.set 1
    global.get 1
    i64.const 4294967295
    i64.and
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.const 1
    i32.sub
    i64.extend_i32_u
    i64.const 32
    i64.shl
    i64.or
    global.set 1
  )
  (func $kperf.heal (;10;) (type 5) (param i32) (result i32)
    local.get 0
    i32.eqz
    if ;; label = @1
      global.get 1
      i64.const 32
      i64.shr_u
      i32.wrap_i64
      i32.const 0
      i32.ne
      return
    end
    local.get 0
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
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
  (func $kperf.unwind (;11;) (type 4) (param i32)
    local.get 0
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
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
  (func $kperf.close (;12;) (type 2) (param i32 i32)
    local.get 1
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
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
    global.get 1
    i64.const 4294967295
    i64.and
    local.get 1
    i64.extend_i32_u
    i64.const 32
    i64.shl
    i64.or
    global.set 1
  )
  (func $kperf.switch (;13;) (type 4) (param i32)
    local.get 0
    global.get 2
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
    global.get 2
    i32.const 2
    i32.shl
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.store 1 offset=1024
    global.get 1
    i64.const 4294967295
    i64.and
    local.get 0
    i32.const 2
    i32.shl
    i32.load 1 offset=1024
    i64.extend_i32_u
    i64.const 32
    i64.shl
    i64.or
    global.set 1
    local.get 0
    global.set 2
  )
  (func $kperf.mark (;14;) (type 4) (param i32)
    i32.const -402653184
    local.get 0
    i32.const 67108863
    i32.and
    i32.or
    call $kperf.put
  )
  (func $kperf.depth (;15;) (type 6) (result i32)
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
  )
  (func $kperf.leaf (;16;) (type 4) (param i32)
    local.get 0
    i32.const -2147483647
    i32.add
    call $kperf.put
  )
  (func $kperf.enter_inside (;17;) (type 7) (param i32) (result i64)
    local.get 0
    call $kperf.enter
    i64.extend_i32_u
    i64.const 32
    i64.shl
  )
  (func $kperf.leave_inside (;18;) (type 8) (param i64)
    local.get 0
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    call $kperf.leave
  )
  (func $kperf.leave_late (;19;) (type 9) (param i32 i64)
    (local i32)
    local.get 1
    i64.const 0
    i64.ne
    if ;; label = @1
      local.get 1
      call $kperf.leave_inside
      return
    end
    i32.const 0
    i64.load 1
    i64.const -1
    i64.eq
    if ;; label = @1
      return
    end
    global.get 3
    call $kperf.make_room
    local.set 2
    local.get 2
    local.get 0
    i32.store 1
    global.get 1
    i64.const 4294967295
    i64.and
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    i32.const 1
    i32.add
    i64.extend_i32_u
    i64.const 32
    i64.shl
    i64.or
    global.set 1
    global.get 1
    i64.const -4294967296
    i64.and
    local.get 2
    i32.const 4
    i32.add
    i64.extend_i32_u
    i64.or
    global.set 1
    global.get 1
    i64.const 32
    i64.shr_u
    i32.wrap_i64
    call $kperf.leave
  )
)

;)
