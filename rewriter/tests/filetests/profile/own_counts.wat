;; --probe own-count --whole
;; Each count is a global, behind two that mark them.
(module
  (memory 1)
  (func $f (export "f") (call $g))
  (func $g))
(; EXPECTED
0 = func[0] f
1 = func[1] g
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32 i32)))
  (import "kperf:host" "flush" (func $kperf:host.flush (;0;) (type 1) (param i32 i32)))
  (memory (;0;) 1)
  (global (;0;) i32 i32.const 0)
  (global (;1;) i32 i32.const 2)
  (global (;2;) (mut i64) i64.const 7741799301468087151)
  (global (;3;) (mut i64) i64.const 8461828788746023525)
  (global (;4;) (mut i64) i64.const 0)
  (global (;5;) (mut i64) i64.const 0)
  (export "f" (func $f))
  (export "kperf.state.id_base" (global 0))
  (export "kperf.state.functions" (global 1))
  (export "kperf.start" (func $kperf.start))
  (start $kperf.start)
  (func $f (;1;) (type 0)
    global.get 4
    i64.const 1
    i64.add
    global.set 4
    call $g
  )
  (func $g (;2;) (type 0)
    global.get 5
    i64.const 1
    i64.add
    global.set 5
  )
  (func $kperf.start (;3;) (type 0)
    i32.const 64
    i32.const 0
    call $kperf:host.flush
  )
)

;)
