;; --imports
;; Calls of the host go through thunks, whose `leave` heals what was left open. References stay as they are.
(module
  (import "env" "callback" (func $callback (param i32 i64) (result i32)))
  (import "env" "memory" (memory 1))
  (import "wasm:js-string" "length" (func $length (param externref) (result i32)))
  (func $f (param externref) (result i32) (drop (call $length (local.get 0))) (call $callback (i32.const 1) (i64.const 2)))
  (func $g (result i32) (return_call $callback (i32.const 1) (i64.const 2)))
  (func $h (result funcref) (ref.func $callback))
  (export "callback" (func $callback)))
(; EXPECTED
0 = func[0] env.callback
1 = func[2] f
2 = func[3] g
3 = func[4] h
(module
  (type (;0;) (func (param i32 i64) (result i32)))
  (type (;1;) (func (param externref) (result i32)))
  (type (;2;) (func (result i32)))
  (type (;3;) (func (result funcref)))
  (type (;4;) (func (param i32) (result i32)))
  (type (;5;) (func (param i32)))
  (import "env" "callback" (func $callback (;0;) (type 0) (param i32 i64) (result i32)))
  (import "env" "memory" (memory (;0;) 1))
  (import "wasm:js-string" "length" (func $length (;1;) (type 1) (param externref) (result i32)))
  (import "kperf" "enter" (func $kperf.enter (;2;) (type 4) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;3;) (type 5) (param i32)))
  (export "callback" (func $callback))
  (func $f (;4;) (type 1) (param externref) (result i32)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
      call $length
      drop
      i32.const 1
      i64.const 2
      call $env.callback
    end
    local.get 1
    call $kperf.leave
  )
  (func $g (;5;) (type 2) (result i32)
    (local i32)
    i32.const 2
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      i32.const 1
      i64.const 2
      local.get 0
      call $kperf.leave
      return_call $callback
    end
    local.get 0
    call $kperf.leave
  )
  (func $h (;6;) (type 3) (result funcref)
    (local i32)
    i32.const 3
    call $kperf.enter
    local.set 0
    block (result funcref) ;; label = @1
      ref.func $callback
    end
    local.get 0
    call $kperf.leave
  )
  (func $env.callback (;7;) (type 0) (param i32 i64) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 2
    local.get 0
    local.get 1
    call $callback
    local.get 2
    call $kperf.leave
  )
)

;)
