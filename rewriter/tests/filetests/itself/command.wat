;; --probe self
;; A command of WASI: the recorder goes around calls of the host, and into the place of `_start` and `proc_exit`. The size of the memory is as before.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 2 20)
  (func $start (export "_start")
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $clock_time_get (i32.const 1) (i64.const 1) (i32.const 8)))
    (if (i32.ne (memory.grow (i32.const 1)) (memory.size)) (then (unreachable)))
    (call $proc_exit (i32.const 3)))
  (data (i32.const 0) "text"))
(; EXPECTED
0 = func[3] start
(module
  (type (;0;) (func (param i32 i32 i32 i32) (result i32)))
  (type (;1;) (func (param i32 i64 i32) (result i32)))
  (type (;2;) (func (param i32)))
  (type (;3;) (func))
  (type (;4;) (func (param i32 i32) (result i32)))
  (type (;5;) (func (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (type (;6;) (func (param i32) (result i32)))
  (type (;7;) (func (param i64)))
  (type (;8;) (func (param i32) (result i64)))
  (type (;9;) (func (result i64)))
  (type (;10;) (func (param i32 i64)))
  (type (;11;) (func (param i64) (result i32)))
  (type (;12;) (func (param i32 i32)))
  (type (;13;) (func (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (;0;) (type 0) (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (;1;) (type 1) (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (;2;) (type 2) (param i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $wasi_snapshot_preview1.clock_time_get (;3;) (type 1) (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $wasi_snapshot_preview1.environ_sizes_get (;4;) (type 4) (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $wasi_snapshot_preview1.environ_get (;5;) (type 4) (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $wasi_snapshot_preview1.fd_prestat_get (;6;) (type 4) (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $wasi_snapshot_preview1.path_open (;7;) (type 5) (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $wasi_snapshot_preview1.fd_write (;8;) (type 0) (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_get" (func $wasi_snapshot_preview1.fd_filestat_get (;9;) (type 4) (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $wasi_snapshot_preview1.fd_close (;10;) (type 6) (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $wasi_snapshot_preview1.proc_exit (;11;) (type 2) (param i32)))
  (memory (;0;) 20 38)
  (global (;0;) (mut i32) i32.const 131072)
  (global (;1;) i32 i32.const 18)
  (global (;2;) (mut i64) i64.const 0)
  (global (;3;) (mut i32) i32.const 1024)
  (global (;4;) (mut i32) i32.const 1088)
  (global (;5;) (mut i64) i64.const 0)
  (global (;6;) (mut i64) i64.const -1)
  (global (;7;) (mut i64) i64.const 4096)
  (global (;8;) (mut i64) i64.const 0)
  (global (;9;) (mut i32) i32.const 0)
  (global (;10;) (mut i32) i32.const 0)
  (global (;11;) (mut i32) i32.const 0)
  (global (;12;) (mut i32) i32.const 0)
  (global (;13;) (mut i64) i64.const 0)
  (global (;14;) (mut i64) i64.const 0)
  (global (;15;) (mut i64) i64.const 0)
  (global (;16;) (mut i64) i64.const 0)
  (global (;17;) (mut i64) i64.const 0)
  (global (;18;) (mut i64) i64.const 0)
  (global (;19;) (mut i64) i64.const 0)
  (global (;20;) (mut i64) i64.const 0)
  (global (;21;) (mut i64) i64.const 1024)
  (global (;22;) (mut i64) i64.const 0)
  (global (;23;) (mut i64) i64.const 100000000)
  (global (;24;) (mut i32) i32.const -1)
  (global (;25;) (mut i32) i32.const 0)
  (global (;26;) (mut i64) i64.const 0)
  (global (;27;) (mut i64) i64.const 0)
  (global (;28;) (mut i32) i32.const 0)
  (export "memory" (memory 0))
  (export "_start" (func $kperf.inside.command))
  (export "kperf.memory" (memory 0))
  (export "kperf.state.instructions" (global 2))
  (export "kperf.take" (func $kperf.take))
  (func $start (;12;) (type 3)
    (local i32 i32)
    global.get 0
    global.get 3
    i32.add
    local.set 1
    local.get 1
    local.get 1
    i64.load offset=16
    global.get 2
    global.get 5
    i64.sub
    global.get 7
    i64.mul
    i64.add
    i64.store offset=16
    global.get 2
    global.set 5
    local.get 1
    i32.load offset=8
    local.set 0
    global.get 0
    local.get 0
    i32.add
    local.set 1
    local.get 1
    i32.load
    i32.const 0
    i32.ne
    global.get 5
    global.get 6
    i64.ge_u
    i32.or
    if ;; label = @1
      i32.const 0
      call $kperf.enter
      local.set 0
    else
      local.get 0
      global.set 3
      local.get 1
      local.get 1
      i64.load offset=24
      i64.const 1
      i64.add
      i64.store offset=24
    end
    block ;; label = @1
      global.get 2
      i64.const 5
      i64.add
      global.set 2
      i32.const 1
      i32.const 0
      i32.const 1
      i32.const 8
      call $kperf.inside.before
      call $fd_write
      call $kperf.inside.after
      global.get 3
      local.get 0
      i32.const -32
      i32.and
      i32.ne
      if ;; label = @2
        local.get 0
        call $kperf.unwind
      end
      global.get 2
      i64.const 4
      i64.add
      global.set 2
      drop
      i32.const 1
      i64.const 1
      i32.const 8
      call $clock_time_get
      global.get 3
      local.get 0
      i32.const -32
      i32.and
      i32.ne
      if ;; label = @2
        local.get 0
        call $kperf.unwind
      end
      global.get 2
      i64.const 5
      i64.add
      global.set 2
      drop
      i32.const 1
      call $kperf.inside.grow
      memory.size
      i32.const 18
      i32.sub
      i32.ne
      if ;; label = @2
        call $kperf.inside.abort
        unreachable
      end
      global.get 2
      i64.const 2
      i64.add
      global.set 2
      i32.const 3
      call $kperf.inside.exit
      global.get 3
      local.get 0
      i32.const -32
      i32.and
      i32.ne
      if ;; label = @2
        local.get 0
        call $kperf.unwind
      end
    end
    global.get 0
    global.get 3
    i32.add
    local.set 1
    local.get 1
    local.get 1
    i64.load offset=16
    global.get 2
    global.get 5
    i64.sub
    global.get 7
    i64.mul
    i64.add
    i64.store offset=16
    global.get 2
    global.set 5
    local.get 0
    i32.const 3
    i32.and
    global.get 5
    global.get 6
    i64.ge_u
    i32.or
    if ;; label = @1
      local.get 0
      call $kperf.leave
    else
      global.get 0
      local.get 0
      i32.add
      i32.load offset=4
      global.set 3
    end
  )
  (data (;0;) (i32.const 0) "text")
)

;)
