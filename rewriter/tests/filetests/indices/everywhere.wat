;; Function indices move wherever one can stand.
(module
  (import "wasi_snapshot_preview1" "sched_yield" (func $import (result i32)))
  (type $t (func))
  (type $s (struct (field (ref $t)) (field funcref)))
  (type $a (array funcref))
  (global $g (ref $s) (struct.new $s (ref.func $f) (ref.func $import)))
  (global $h (ref $a) (array.new_fixed $a 2 (ref.func $f) (ref.func $g)))
  (table $table 2 (ref null func) (ref.func $f))
  (table $closed 2 funcref)
  (elem (table $closed) (i32.const 0) func $f $g)
  (elem (table $closed) (i32.const 0) funcref (ref.func $g) (ref.null func))
  (elem $passive func $f)
  (elem declare func $f $g)
  (export "f" (func $f))
  (export "import" (func $import))
  (start $f)
  (func $f (drop (ref.func $g)) (call $g))
  (func $g (drop (call $import))))
(; EXPECTED
0 = func[1] f
1 = func[2] g
(module
  (type $t (;0;) (func))
  (type $s (;1;) (struct (field (ref $t)) (field funcref)))
  (type $a (;2;) (array funcref))
  (type (;3;) (func (result i32)))
  (type (;4;) (func (param i32) (result i32)))
  (type (;5;) (func (param i32)))
  (import "wasi_snapshot_preview1" "sched_yield" (func $import (;0;) (type 3) (result i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 4) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 5) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 5) (param i32)))
  (table $table (;0;) 2 funcref ref.func $f)
  (table $closed (;1;) 2 funcref)
  (global $g (;0;) (ref $s) ref.func $f ref.func $import struct.new $s)
  (global $h (;1;) (ref $a) ref.func $f ref.func $g array.new_fixed $a 2)
  (export "f" (func $f))
  (export "import" (func $import))
  (start $f)
  (elem (;0;) (table $closed) (i32.const 0) func $f $g)
  (elem (;1;) (table $closed) (i32.const 0) funcref (ref.func $g) (ref.null func))
  (elem $passive (;2;) func $f)
  (elem (;3;) declare func $f $g)
  (func $f (;4;) (type $t)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      ref.func $g
      drop
      call $g
    end
    local.get 0
    call $kperf.leave
  )
  (func $g (;5;) (type $t)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block ;; label = @1
      call $import
      local.get 0
      call $kperf.unwind
      drop
    end
    local.get 0
    call $kperf.leave
  )
)

;)
