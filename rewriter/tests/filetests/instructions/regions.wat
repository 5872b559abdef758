;; --probe inline --clock-instructions --only f --only g
;; Instructions are counted once for each run of straight-line code, in front of it. What stands behind a block that can only be left
;; by its end belongs to what stands before it.
(module
  (memory 1)
  (func $f (param $x i32) (result i32)
    (if (local.get $x) (then (nop) (local.set $x (i32.const 5))) (else (drop (i32.const 6))))
    (block $b (br_if $b (local.get $x)) (local.set $x (i32.const 7)))
    (call $plain)
    (if (local.get $x) (then (return (i32.const 8))))
    (local.get $x))
  ;; A loop that calls nothing: a local holds the count too. Behind a call the global says what it is.
  (func $g (param $x i32)
    (call $plain)
    (loop $l (br_if $l (local.tee $x (i32.sub (local.get $x) (i32.const 1))))))
  ;; Functions without a probe count too.
  (func $plain (block $out (br_table $out 1 (i32.const 0))) (drop (i32.const 1)))
  ;; What was copied or filled counts by its length, when it is done.
  (func $fills (param $n i32) (local i64)
    (memory.fill (i32.const 0) (i32.const 0) (local.get $n)))
  (func $tail (return_call $plain))
  (func $dead (unreachable) (drop (i32.const 1))))
(; EXPECTED
0 = func[0] f
1 = func[1] g
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (param i32)))
  (type (;2;) (func))
  (type (;3;) (func (param i32 i32)))
  (type (;4;) (func (result i64)))
  (type (;5;) (func (param i64) (result i32)))
  (type (;6;) (func (result i32)))
  (type (;7;) (func (param i32) (result i64)))
  (type (;8;) (func (param i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 3) (param i32 i32)))
  (memory (;0;) 1)
  (memory (;1;) 2 2 shared)
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 9223372036854775807)
  (global (;3;) (mut i64) i64.const 0)
  (global (;4;) i32 i32.const 131048)
  (export "kperf.memory" (memory 1))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.state.instructions" (global 3))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $f (;1;) (type 0) (param $x i32) (result i32)
    (local $kperf.token i64) (local i64 i64 i64)
    block ;; label = @1
      block ;; label = @2
        global.get 3
        global.get 2
        i64.sub
        local.tee 4
        i64.const 1073741824
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        global.get 0
        local.tee 2
        i32.wrap_i64
        i32.const 8
        i32.load 1
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 2
        i32.wrap_i64
        local.get 4
        i32.const 0
        i64.extend_i32_u
        i64.const 32
        i64.shl
        i64.const 1073741824
        i64.or
        i64.or
        i64.store 1
        local.get 2
        i64.const 4294967304
        i64.add
        local.tee 2
        global.set 0
        local.get 2
        i64.const -4294967296
        i64.and
        local.set $kperf.token
        global.get 2
        local.get 4
        i64.add
        global.set 2
        br 1 (;@1;)
      end
      i64.const -4294967296
      local.set $kperf.token
      i32.const 0
      i64.load 1
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
      i64.const 5
      i64.add
      global.set 3
      local.get $x
      if ;; label = @2
        global.get 3
        i64.const 2
        i64.add
        global.set 3
        nop
        i32.const 5
        local.set $x
      else
        global.get 3
        i64.const 1
        i64.add
        global.set 3
        i32.const 6
        drop
      end
      block $b
        local.get $x
        br_if $b
        global.get 3
        i64.const 2
        i64.add
        global.set 3
        i32.const 7
        local.set $x
      end
      call $plain
      global.get 3
      i64.const 2
      i64.add
      global.set 3
      local.get $x
      if ;; label = @2
        global.get 3
        i64.const 1
        i64.add
        global.set 3
        i32.const 8
        br 1 (;@1;)
      end
      global.get 3
      i64.const 1
      i64.add
      global.set 3
      local.get $x
    end
    block ;; label = @1
      block ;; label = @2
        global.get 0
        local.tee 2
        local.get $kperf.token
        i64.sub
        local.tee 3
        i32.const 8
        i64.load32_u 1
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        global.get 3
        global.get 2
        i64.sub
        local.tee 4
        i64.const 1073741824
        i64.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 3
        i32.wrap_i64
        local.get 4
        i64.const -9223372035781033984
        i64.or
        i64.store 1
        local.get 2
        i64.const 4294967288
        i64.sub
        global.set 0
        global.get 2
        local.get 4
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
  (func $g (;2;) (type 1) (param $x i32)
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
        i32.load 1
        i32.ge_u
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        local.get 3
        i32.wrap_i64
        local.get 5
        i32.const 1
        i64.extend_i32_u
        i64.const 32
        i64.shl
        i64.const 1073741824
        i64.or
        i64.or
        i64.store 1
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
      i64.load 1
      i64.const -1
      i64.ne
      (@metadata.code.branch_hint "\00")
      if ;; label = @2
        i32.const 1
        call $kperf.enter_inside
        local.set $kperf.token
        i32.const 1
        (@metadata.code.branch_hint "\00")
        br_if 0 (;@2;)
        unreachable
      end
    end
    block ;; label = @1
      global.get 3
      i64.const 1
      i64.add
      local.tee 1
      global.set 3
      call $plain
      global.get 3
      local.set 1
      loop $l
        local.get 1
        i64.const 5
        i64.add
        local.tee 1
        global.set 3
        local.get $x
        i32.const 1
        i32.sub
        local.tee $x
        br_if $l
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
        i64.load32_u 1
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
        i64.store 1
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
  (func $plain (;3;) (type 2)
    global.get 3
    i64.const 2
    i64.add
    global.set 3
    block $out
      i32.const 0
      br_table $out 1
    end
    global.get 3
    i64.const 1
    i64.add
    global.set 3
    i32.const 1
    drop
  )
  (func $fills (;4;) (type 1) (param $n i32)
    (local i64 i32)
    global.get 3
    i64.const 4
    i64.add
    global.set 3
    i32.const 0
    i32.const 0
    local.get $n
    local.tee 2
    memory.fill
    local.get 2
    i64.extend_i32_u
    i64.const 3
    i64.shr_u
    global.get 3
    i64.add
    global.set 3
  )
  (func $tail (;5;) (type 2)
    global.get 3
    i64.const 1
    i64.add
    global.set 3
    return_call $plain
  )
  (func $dead (;6;) (type 2)
    unreachable
    i32.const 1
    drop
  )
)

;)
