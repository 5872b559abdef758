;; --clock-instructions --skip plain
;; The count is in a global of the recorder's, which stands behind those that the module imports: the module's own have other indices.
(module
  (import "host" "base" (global $base i32))
  (memory 1)
  (global $own (mut i32) (i32.const 5))
  (global $other i32 (global.get $base))
  (table 2 funcref)
  (export "own" (global $own))
  (func $f (export "f") (result i32)
    (global.set $own (i32.add (global.get $own) (global.get $base)))
    (call $plain)
    (global.get $own))
  (func $plain (drop (global.get $own)))
  (elem (offset (global.get $base)) func $f)
  (data (global.get $base) "x"))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func (result i32)))
  (type (;1;) (func))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32)))
  (import "host" "base" (global $base (;0;) i32))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 3) (param i32)))
  (import "kperf" "instructions" (global (;1;) (mut i64)))
  (table (;0;) 2 funcref)
  (memory (;0;) 1)
  (global $own (;2;) (mut i32) i32.const 5)
  (global $other (;3;) i32 global.get $base)
  (export "own" (global $own))
  (export "f" (func $f))
  (elem (;0;) (global.get $base) func $f)
  (func $f (;2;) (type 0) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      global.get 1
      i64.const 5
      i64.add
      global.set 1
      global.get $own
      global.get $base
      i32.add
      global.set $own
      call $plain
      global.get 1
      i64.const 1
      i64.add
      global.set 1
      global.get $own
    end
    local.get 0
    call $kperf.leave
  )
  (func $plain (;3;) (type 1)
    global.get 1
    i64.const 1
    i64.add
    global.set 1
    global.get $own
    drop
  )
  (data (;0;) (global.get $base) "x")
)

;)
