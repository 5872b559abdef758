;; --imports --skip idle
;; A wait on a shared memory goes through a thunk, one for each memory, offset and width; in functions without a probe too. On
;; another memory it traps.
(module
  (import "env" "log" (func $log (param i32)))
  (memory $a 1 1 shared)
  (memory $b i64 1 1 shared)
  (memory $c 1)
  (func $lock (result i32)
    (drop (memory.atomic.wait32 $a offset=8 (i32.const 0) (i32.const 1) (i64.const -1)))
    (call $log (i32.const 7))
    (memory.atomic.wait32 $a (i32.const 0) (i32.const 1) (i64.const -1)))
  (func $idle (result i32)
    (drop (memory.atomic.wait64 $b (i64.const 0) (i64.const 1) (i64.const 1000)))
    (memory.atomic.wait32 $a offset=8 (i32.const 0) (i32.const 1) (i64.const -1)))
  (func $traps (result i32)
    (memory.atomic.wait32 $c (i32.const 0) (i32.const 1) (i64.const -1))))
(; EXPECTED
0 = func[0] env.log
1 = func[1] lock
2 = func[3] traps
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func (result i32)))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32 i32 i64) (result i32)))
  (type (;4;) (func (param i64 i64 i64) (result i32)))
  (import "env" "log" (func $log (;0;) (type 0) (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 0) (param i32)))
  (memory $a (;0;) 1 1 shared)
  (memory $b (;1;) i64 1 1 shared)
  (memory $c (;2;) 1)
  (func $lock (;3;) (type 1) (result i32)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 1
      i64.const -1
      call $"#func8 memory.atomic.wait32"
      drop
      i32.const 7
      call $env.log
      i32.const 0
      i32.const 1
      i64.const -1
      call $memory.atomic.wait32
    end
    local.get 0
    call $kperf.leave
  )
  (func $idle (;4;) (type 1) (result i32)
    i64.const 0
    i64.const 1
    i64.const 1000
    call $memory.atomic.wait64
    drop
    i32.const 0
    i32.const 1
    i64.const -1
    call $"#func8 memory.atomic.wait32"
  )
  (func $traps (;5;) (type 1) (result i32)
    (local i32)
    i32.const 2
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      i32.const 0
      i32.const 1
      i64.const -1
      memory.atomic.wait32 $c
    end
    local.get 0
    call $kperf.leave
  )
  (func $env.log (;6;) (type 0) (param i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    local.get 0
    call $log
    local.get 1
    call $kperf.leave
  )
  (func $memory.atomic.wait32 (;7;) (type 3) (param i32 i32 i64) (result i32)
    (local i32)
    i32.const 1073741821
    call $kperf.enter
    local.set 3
    local.get 0
    local.get 1
    local.get 2
    memory.atomic.wait32
    local.get 3
    call $kperf.leave
  )
  (func $"#func8 memory.atomic.wait32" (@name "memory.atomic.wait32") (;8;) (type 3) (param i32 i32 i64) (result i32)
    (local i32)
    i32.const 1073741821
    call $kperf.enter
    local.set 3
    local.get 0
    local.get 1
    local.get 2
    memory.atomic.wait32 offset=8
    local.get 3
    call $kperf.leave
  )
  (func $memory.atomic.wait64 (;9;) (type 4) (param i64 i64 i64) (result i32)
    (local i32)
    i32.const 1073741821
    call $kperf.enter
    local.set 3
    local.get 0
    local.get 1
    local.get 2
    memory.atomic.wait64 $b
    local.get 3
    call $kperf.leave
  )
)

;)
