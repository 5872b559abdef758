;; A block with several results needs a type; it goes behind the module's own, unless that has it.
(module
  (func $two (param i64) (result i32 i64) (return (i32.const 1) (local.get 0)))
  (func $two_again (result i32 i64) (i32.const 2) (i64.const 2))
  (func $three (param f32) (result f32 f32 f32) (local.get 0) (local.get 0) (local.get 0)))
(; EXPECTED
0 = func[0] two
1 = func[1] two_again
2 = func[2] three
(module
  (type (;0;) (func (param i64) (result i32 i64)))
  (type (;1;) (func (result i32 i64)))
  (type (;2;) (func (param f32) (result f32 f32 f32)))
  (type (;3;) (func (param i32) (result i32)))
  (type (;4;) (func (param i32)))
  (type (;5;) (func (result f32 f32 f32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 3) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 4) (param i32)))
  (func $two (;2;) (type 0) (param i64) (result i32 i64)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block (type 1) (result i32 i64) ;; label = @1
      i32.const 1
      local.get 0
      br 0 (;@1;)
    end
    local.get 1
    call $kperf.leave
  )
  (func $two_again (;3;) (type 1) (result i32 i64)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block (type 1) (result i32 i64) ;; label = @1
      i32.const 2
      i64.const 2
    end
    local.get 0
    call $kperf.leave
  )
  (func $three (;4;) (type 2) (param f32) (result f32 f32 f32)
    (local i32)
    i32.const 2
    call $kperf.enter
    local.set 1
    block (type 5) (result f32 f32 f32) ;; label = @1
      local.get 0
      local.get 0
      local.get 0
    end
    local.get 1
    call $kperf.leave
  )
)

;)
