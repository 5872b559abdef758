;; --probe count
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
  (type (;4;) (func (param i32 i32)))
  (import "host" "f" (func $import (;0;) (type 1)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 4) (param i32 i32)))
  (memory (;0;) 17 17 shared)
  (tag $t (;0;) (type 2) (param i32))
  (global (;0;) i32 i32.const 0)
  (global (;1;) i32 i32.const 3)
  (export "f" (func $f))
  (export "g" (func $g))
  (export "kperf.memory" (memory 0))
  (export "kperf.state.id_base" (global 0))
  (export "kperf.state.functions" (global 1))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $f (;2;) (type 2) (param i32)
    (local i32 i64)
    i32.const 1048576
    i32.const 1048576
    i64.load
    i64.const 1
    i64.add
    i64.store
    call $import
    local.get 0
    (@metadata.code.branch_hint "\01")
    if ;; label = @1
      call $import
      block $b
        local.get 0
        (@metadata.code.branch_hint "\00")
        br_if $b
        i32.const 1
        call $h
      end
    end
  )
  (func $g (;3;) (type 3) (param i32) (result i32 i32)
    i32.const 1048584
    i32.const 1048584
    i64.load
    i64.const 1
    i64.add
    i64.store
    block $out (result i32)
      try_table (result i32) (catch $t $out) (catch $t $out) ;; label = @2
        i32.const 7
        local.get 0
        (@metadata.code.branch_hint "\00")
        br_if $out
      end
    end
    i32.const 0
  )
  (func $h (;4;) (type 2) (param i32)
    i32.const 1048592
    i32.const 1048592
    i64.load
    i64.const 1
    i64.add
    i64.store
    call $import
    local.get 0
    (@metadata.code.branch_hint "\01")
    if ;; label = @1
      call $import
    end
  )
)

;)
