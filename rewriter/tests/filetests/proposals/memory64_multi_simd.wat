(module
  (memory $a i64 1)
  (memory $b 1 1 shared)
  (func $f (param i64) (result v128)
    (i32.atomic.store $b (i32.const 0) (i32.const 1))
    (i64.store $a (local.get 0) (i64.const 1))
    (i8x16.relaxed_swizzle (v128.load $a (local.get 0)) (v128.const i64x2 1 2)))
  (func $wide (param i64 i64) (result i64 i64)
    (i64.mul_wide_u (local.get 0) (local.get 1))))
(; EXPECTED
0 = func[0] f
1 = func[1] wide
(module
  (type (;0;) (func (param i64) (result v128)))
  (type (;1;) (func (param i64 i64) (result i64 i64)))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32)))
  (type (;4;) (func (result i64 i64)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 3) (param i32)))
  (memory $a (;0;) i64 1)
  (memory $b (;1;) 1 1 shared)
  (func $f (;2;) (type 0) (param i64) (result v128)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block (result v128) ;; label = @1
      i32.const 0
      i32.const 1
      i32.atomic.store $b
      local.get 0
      i64.const 1
      i64.store
      local.get 0
      v128.load
      v128.const i32x4 0x00000001 0x00000000 0x00000002 0x00000000
      i8x16.relaxed_swizzle
    end
    local.get 1
    call $kperf.leave
  )
  (func $wide (;3;) (type 1) (param i64 i64) (result i64 i64)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 2
    block (type 4) (result i64 i64) ;; label = @1
      local.get 0
      local.get 1
      i64.mul_wide_u
    end
    local.get 2
    call $kperf.leave
  )
)

;)
