;; The host may call back and catch: behind the call, what it left open is closed.
(module
  (import "env" "callback" (func $callback (param i32) (result i32)))
  (func $f (result i32) (call $callback (i32.const 1)))
  (func $g (result i32) (return_call $callback (i32.const 1)))
  (export "f" (func $f)))
(; EXPECTED
0 = func[1] f
1 = func[2] g
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (result i32)))
  (type (;2;) (func (param i32)))
  (import "env" "callback" (func $callback (;0;) (type 0) (param i32) (result i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 0) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 2) (param i32)))
  (export "f" (func $f))
  (func $f (;4;) (type 1) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      i32.const 1
      call $callback
      local.get 0
      call $kperf.unwind
    end
    local.get 0
    call $kperf.leave
  )
  (func $g (;5;) (type 1) (result i32)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      i32.const 1
      local.get 0
      call $kperf.leave
      return_call $callback
    end
    local.get 0
    call $kperf.leave
  )
)

;)
