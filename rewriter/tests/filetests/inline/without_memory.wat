;; --probe inline --imports
;; Nothing but functions: the memory is the only one. Thunks and tail calls are inlined too.
(module
  (import "env" "host" (func $host (param i64) (result i64)))
  (func $f (param i64) (result i64) (return_call $g (call $host (local.get 0))))
  (func $g (param i64) (result i64) (local.get 0))
  (start $s)
  (func $s))
(; EXPECTED
0 = func[0] env.host
1 = func[1] f
2 = func[2] g
3 = func[3] s
(module
  (type (;0;) (func (param i64) (result i64)))
  (type (;1;) (func))
  (type (;2;) (func (result i64)))
  (type (;3;) (func (param i32 i32)))
  (type (;4;) (func (param i64) (result i32)))
  (type (;5;) (func (param i32)))
  (type (;6;) (func (param i32) (result i32)))
  (type (;7;) (func (result i32)))
  (type (;8;) (func (param i32 i32 i32)))
  (import "env" "host" (func $host (;0;) (type 0) (param i64) (result i64)))
  (import "kperf:host" "now" (func $kperf:host.now (;1;) (type 2) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;2;) (type 3) (param i32 i32)))
  (memory (;0;) 2 2 shared)
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
  (start $s)
  (func $f (;3;) (type 0) (param i64) (result i64)
    (local i32 i32)
    i32.const 64
    i32.load
    local.set 2
    i32.const 0
    i64.load
    global.get 2
    i64.eq
    local.get 2
    global.get 3
    i32.le_u
    i32.and
    if ;; label = @1
      local.get 2
      i32.const 1
      i32.store
      i32.const 64
      local.get 2
      i32.const 4
      i32.add
      local.tee 2
      i32.store
      global.get 0
      i32.const 1
      i32.add
      local.tee 1
      global.set 0
    else
      i32.const 0
      i64.load
      i64.const -1
      i64.eq
      if ;; label = @2
        i32.const -1
        local.set 1
      else
        i32.const 1
        call $kperf.enter
        local.set 1
        i32.const 64
        i32.load
        local.set 2
      end
    end
    block (result i64) ;; label = @1
      local.get 0
      call $env.host
      i32.const 64
      i32.load
      local.set 2
      i32.const 0
      i64.load
      global.get 2
      i64.eq
      local.get 2
      global.get 3
      i32.le_u
      i32.and
      local.get 1
      global.get 0
      i32.eq
      i32.and
      if ;; label = @2
        local.get 2
        i32.const -2147483648
        i32.store
        i32.const 64
        local.get 2
        i32.const 4
        i32.add
        i32.store
        local.get 1
        i32.const 1
        i32.sub
        global.set 0
      else
        i32.const 0
        i64.load
        i64.const -1
        i64.ne
        if ;; label = @3
          local.get 1
          call $kperf.leave
        end
      end
      return_call $g
    end
    i32.const 64
    i32.load
    local.set 2
    i32.const 0
    i64.load
    global.get 2
    i64.eq
    local.get 2
    global.get 3
    i32.le_u
    i32.and
    local.get 1
    global.get 0
    i32.eq
    i32.and
    if ;; label = @1
      local.get 2
      i32.const -2147483648
      i32.store
      i32.const 64
      local.get 2
      i32.const 4
      i32.add
      i32.store
      local.get 1
      i32.const 1
      i32.sub
      global.set 0
    else
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      if ;; label = @2
        local.get 1
        call $kperf.leave
      end
    end
  )
  (func $g (;4;) (type 0) (param i64) (result i64)
    (local i32 i32)
    i32.const 64
    i32.load
    local.set 2
    i32.const 0
    i64.load
    global.get 2
    i64.eq
    local.get 2
    global.get 3
    i32.le_u
    i32.and
    if ;; label = @1
      local.get 2
      i32.const 2
      i32.store
      i32.const 64
      local.get 2
      i32.const 4
      i32.add
      local.tee 2
      i32.store
      global.get 0
      i32.const 1
      i32.add
      local.tee 1
      global.set 0
    else
      i32.const 0
      i64.load
      i64.const -1
      i64.eq
      if ;; label = @2
        i32.const -1
        local.set 1
      else
        i32.const 2
        call $kperf.enter
        local.set 1
        i32.const 64
        i32.load
        local.set 2
      end
    end
    block (result i64) ;; label = @1
      local.get 0
    end
    i32.const 0
    i64.load
    global.get 2
    i64.eq
    local.get 2
    global.get 3
    i32.le_u
    i32.and
    if ;; label = @1
      local.get 2
      i32.const -2147483648
      i32.store
      i32.const 64
      local.get 2
      i32.const 4
      i32.add
      i32.store
      local.get 1
      i32.const 1
      i32.sub
      global.set 0
    else
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      if ;; label = @2
        local.get 1
        call $kperf.leave
      end
    end
  )
  (func $s (;5;) (type 1)
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
      i32.const 3
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
        i32.const 3
        call $kperf.enter
        local.set 0
        i32.const 64
        i32.load
        local.set 1
      end
    end
    block ;; label = @1
    end
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
  (func $env.host (;6;) (type 0) (param i64) (result i64)
    (local i32 i32)
    i32.const 64
    i32.load
    local.set 2
    i32.const 0
    i64.load
    global.get 2
    i64.eq
    local.get 2
    global.get 3
    i32.le_u
    i32.and
    if ;; label = @1
      local.get 2
      i32.const 0
      i32.store
      i32.const 64
      local.get 2
      i32.const 4
      i32.add
      local.tee 2
      i32.store
      global.get 0
      i32.const 1
      i32.add
      local.tee 1
      global.set 0
    else
      i32.const 0
      i64.load
      i64.const -1
      i64.eq
      if ;; label = @2
        i32.const -1
        local.set 1
      else
        i32.const 0
        call $kperf.enter
        local.set 1
        i32.const 64
        i32.load
        local.set 2
      end
    end
    local.get 0
    call $host
    i32.const 64
    i32.load
    local.set 2
    i32.const 0
    i64.load
    global.get 2
    i64.eq
    local.get 2
    global.get 3
    i32.le_u
    i32.and
    local.get 1
    global.get 0
    i32.eq
    i32.and
    if ;; label = @1
      local.get 2
      i32.const -2147483648
      i32.store
      i32.const 64
      local.get 2
      i32.const 4
      i32.add
      i32.store
      local.get 1
      i32.const 1
      i32.sub
      global.set 0
    else
      i32.const 0
      i64.load
      i64.const -1
      i64.ne
      if ;; label = @2
        local.get 1
        call $kperf.leave
      end
    end
  )
  (func $kperf.init (;7;) (type 1)
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
  (func $kperf.now (;8;) (type 2) (result i64)
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
  (func $kperf.flush (;9;) (type 1)
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
  (func $kperf.make_room (;10;) (type 4) (param i64) (result i32)
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
  (func $kperf.put (;11;) (type 5) (param i32)
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
  (func $kperf.enter (;12;) (type 6) (param i32) (result i32)
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
  (func $kperf.leave (;13;) (type 5) (param i32)
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
  (func $kperf.heal (;14;) (type 6) (param i32) (result i32)
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
  (func $kperf.unwind (;15;) (type 5) (param i32)
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
  (func $kperf.close (;16;) (type 3) (param i32 i32)
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
  (func $kperf.switch (;17;) (type 5) (param i32)
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
  (func $kperf.mark (;18;) (type 5) (param i32)
    i32.const -402653184
    local.get 0
    i32.const 67108863
    i32.and
    i32.or
    call $kperf.put
  )
  (func $kperf.depth (;19;) (type 7) (result i32)
    global.get 0
  )
)

;)
