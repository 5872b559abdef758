;; --probe count --imports --whole
;; A function that counts its calls is as it was, but for the count; it doesn't matter how it ends.
(module
  (import "env" "log" (func $log (param i32)))
  (memory 1)
  (tag $oops (param i32 i32))
  (start $main)
  (func $main
    (call $log (call $fib (i32.const 3))))
  (func $fib (param i32) (result i32)
    (if (i32.lt_u (local.get 0) (i32.const 2)) (then (return (local.get 0))))
    (i32.add
      (call $fib (i32.sub (local.get 0) (i32.const 1)))
      (call $fib (i32.sub (local.get 0) (i32.const 2)))))
  (func $catches (local i64)
    (block $caught (result i32 i32)
      (try_table (catch $oops $caught)
        (throw $oops (i32.const 1) (i32.const 2)))
      (return))
    (drop)
    (drop))
  (func $jumps (param i32) (result i32)
    (return_call $fib (local.get 0))))
(; EXPECTED
0 = func[0] env.log
1 = func[1] main
2 = func[2] fib
3 = func[3] catches
4 = func[4] jumps
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func (param i32 i32)))
  (type (;2;) (func))
  (type (;3;) (func (param i32) (result i32)))
  (type (;4;) (func (result i32 i32)))
  (import "env" "log" (func $log (;0;) (type 0) (param i32)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;1;) (type 1) (param i32 i32)))
  (memory (;0;) 1)
  (memory (;1;) 17 17 shared)
  (tag $oops (;0;) (type 1) (param i32 i32))
  (global (;0;) i32 i32.const 0)
  (global (;1;) i32 i32.const 5)
  (export "kperf.memory" (memory 1))
  (export "kperf.state.id_base" (global 0))
  (export "kperf.state.functions" (global 1))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $main (;2;) (type 2)
    i32.const 1048584
    i32.const 1048584
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    i32.const 3
    call $fib
    call $env.log
  )
  (func $fib (;3;) (type 3) (param i32) (result i32)
    i32.const 1048592
    i32.const 1048592
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    local.get 0
    i32.const 2
    i32.lt_u
    if ;; label = @1
      local.get 0
      return
    end
    local.get 0
    i32.const 1
    i32.sub
    call $fib
    local.get 0
    i32.const 2
    i32.sub
    call $fib
    i32.add
  )
  (func $catches (;4;) (type 2)
    (local i64)
    i32.const 1048600
    i32.const 1048600
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    block $caught (type 4) (result i32 i32)
      try_table (catch $oops $caught) ;; label = @2
        i32.const 1
        i32.const 2
        throw $oops
      end
      return
    end
    drop
    drop
  )
  (func $jumps (;5;) (type 3) (param i32) (result i32)
    i32.const 1048608
    i32.const 1048608
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    local.get 0
    return_call $fib
  )
  (func $env.log (;6;) (type 0) (param i32)
    i32.const 1048576
    i32.const 1048576
    i64.load 1
    i64.const 1
    i64.add
    i64.store 1
    local.get 0
    call $log
  )
  (func $kperf.start (;7;) (type 2)
    i32.const 64
    i32.const 0
    call $kperf:host.flush
    call $main
  )
)

;)
