;; A local set inside the block is unset behind it, where nothing reads it.
(module
  (type $s (struct))
  (func $f (result (ref $s)) (local $x (ref $s))
    (local.set $x (struct.new $s))
    (local.get $x)))
(; EXPECTED
0 = func[0] f
(module
  (type $s (;0;) (struct))
  (type (;1;) (func (result (ref $s))))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 3) (param i32)))
  (func $f (;2;) (type 1) (result (ref $s))
    (local $x (ref $s)) (local $kperf.token i32)
    i32.const 0
    call $kperf.enter
    local.set $kperf.token
    block (result (ref $s)) ;; label = @1
      struct.new $s
      local.set $x
      local.get $x
    end
    local.get $kperf.token
    call $kperf.leave
  )
)

;)
