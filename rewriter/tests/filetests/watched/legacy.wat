;; --skip catches
(module
  (tag $e)
  (func $thrower (throw $e))
  (func $catches try call $thrower catch $e nop catch_all nop end))
(; EXPECTED
0 = func[0] thrower
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (type (;3;) (func (result i32)))
  (type (;4;) (func (param i32 i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (import "kperf" "depth" (func $kperf.depth (;2;) (type 3) (result i32)))
  (import "kperf" "close" (func $kperf.close (;3;) (type 4) (param i32 i32)))
  (tag $e (;0;) (type 0))
  (func $thrower (;4;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      throw $e
    end
    local.get 0
    call $kperf.leave
  )
  (func $catches (;5;) (type 0)
    (local i32)
    call $kperf.depth
    i32.const 1
    i32.add
    local.set 0
    try ;; label = @1
      call $thrower
    catch $e
      i32.const 0
      local.get 0
      i32.const 1
      i32.sub
      call $kperf.close
      nop
    catch_all
      i32.const 0
      local.get 0
      i32.const 1
      i32.sub
      call $kperf.close
      nop
    end
  )
)

;)
