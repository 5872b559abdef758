;; --probe inline
;; A name section that stands in front of the code is written behind it: what labels and locals are called depends on the bodies.
(module
  (@custom "name" (before first)
    "\01\04\01\00\01f"
    "\02\09\01\00\02\00\01p\01\01l"
    "\03\11\01\00\02\00\05outer\01\05inner")
  (func (export "f") (param i32) (result i32) (local i32)
    (block (block (br_if 1 (local.get 0)) (br 0)) (local.set 1 (i32.const 3)))
    (local.get 1)))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (result i64)))
  (type (;2;) (func (param i32 i32)))
  (type (;3;) (func))
  (type (;4;) (func (param i64) (result i32)))
  (type (;5;) (func (param i32)))
  (type (;6;) (func (result i32)))
  (type (;7;) (func (param i32) (result i64)))
  (type (;8;) (func (param i64)))
  (type (;9;) (func (param i32 i64)))
  (import "kperf:host" "now" (func $kperf:host.now (;0;) (type 1) (result i64)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 2) (param i32 i32)))
  (memory (;0;) 2 2 shared)
  (global (;0;) (mut i64) i64.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 1)
  (global (;3;) i32 i32.const 131048)
  (export "f" (func $f))
  (export "kperf.memory" (memory 0))
  (export "kperf.state.head" (global 0))
  (export "kperf.state.stack" (global 1))
  (export "kperf.state.last" (global 2))
  (export "kperf.flush" (func $kperf.flush))
  (export "kperf.close" (func $kperf.close))
  (export "kperf.switch" (func $kperf.switch))
  (export "kperf.mark" (func $kperf.mark))
  (export "kperf.depth" (func $kperf.depth))
  (func $f (;2;) (type 0) (param $p i32) (result i32)
    (local $l i32) (local $kperf.token i64) (local i64 i64)
    block ;; label = @1
      i32.const 8
      i32.load
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
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
      block $outer
        block $inner
          local.get $p
          br_if $outer
          br $inner
        end
        i32.const 3
        local.set $l
      end
      local.get $l
    end
    block ;; label = @1
      block ;; label = @2
        local.get $kperf.token
        i64.const 0
        i64.ne
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
        i32.const 0
        i32.const -2147483647
        i32.add
        i32.store
        local.get 3
        i64.const 4
        i64.add
        global.set 0
        br 1 (;@1;)
      end
      local.get $kperf.token
      i64.const 0
      i64.lt_s
      (@metadata.code.branch_hint "\01")
      br_if 0 (;@1;)
      i32.const 0
      local.get $kperf.token
      call $kperf.leave_late
    end
  )
)

;)
