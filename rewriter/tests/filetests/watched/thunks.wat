;; --imports --skip f
;; The thunk closes what is open above it: who calls it needs not.
(module
  (import "env" "host" (func $host))
  (func $f (call $host))
  (func $g (call $f)))
(; EXPECTED
0 = func[0] env.host
1 = func[2] g
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "env" "host" (func $host (;0;) (type 0)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 2) (param i32)))
  (func $f (;3;) (type 0)
    call $env.host
  )
  (func $g (;4;) (type 0)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block ;; label = @1
      call $f
    end
    local.get 0
    call $kperf.leave
  )
  (func $env.host (;5;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    call $host
    local.get 0
    call $kperf.leave
  )
)

;)
