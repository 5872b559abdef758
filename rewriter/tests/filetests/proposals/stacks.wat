;; --skip f --skip g --skip scheduler
;; Functions that aren't open while a stack is suspended have probes: `plain` is called there, and returns.
(module
  (type $ft (func))
  (type $ct (cont $ft))
  (tag $t)
  (func $g (drop (call $plain)) (suspend $t))
  (func $plain (result i32) (i32.const 1))
  (func $scheduler (block $h (result (ref $ct)) (resume $ct (on $t $h) (cont.new $ct (ref.func $g))) (return)) (drop))
  (func $f (export "f") (call $scheduler) (drop (call $plain)))
  (elem declare func $g))
(; EXPECTED
0 = func[1] plain
(module
  (type $ft (;0;) (func))
  (type $ct (;1;) (cont $ft))
  (type (;2;) (func (result i32)))
  (type (;3;) (func (param i32) (result i32)))
  (type (;4;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 3) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 4) (param i32)))
  (tag $t (;0;) (type $ft))
  (export "f" (func $f))
  (elem (;0;) declare func $g)
  (func $g (;2;) (type $ft)
    call $plain
    drop
    suspend $t
  )
  (func $plain (;3;) (type 2) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      i32.const 1
    end
    local.get 0
    call $kperf.leave
  )
  (func $scheduler (;4;) (type $ft)
    block $h (result (ref $ct))
      ref.func $g
      cont.new $ct
      resume $ct (on $t $h)
      return
    end
    drop
  )
  (func $f (;5;) (type $ft)
    call $scheduler
    call $plain
    drop
  )
)

;)
