;; --no-callbacks env
;; Nobody outside gets `f`, which takes a function.
(module
  (type $v (func))
  (import "env" "looks" (func $looks (param i32)))
  (table 1 1 funcref)
  (elem declare func $f)
  (func $f (param funcref) (table.set 0 (i32.const 0) (local.get 0)))
  (func $g (call $looks (i32.const 0)) (call_indirect (type $v) (i32.const 0))))
(; EXPECTED
0 = func[1] f
1 = func[2] g
(module
  (type $v (;0;) (func))
  (type (;1;) (func (param i32)))
  (type (;2;) (func (param funcref)))
  (type (;3;) (func (param i32) (result i32)))
  (import "env" "looks" (func $looks (;0;) (type 1) (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 3) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 1) (param i32)))
  (table (;0;) 1 1 funcref)
  (elem (;0;) declare func $f)
  (func $f (;3;) (type 2) (param funcref)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block ;; label = @1
      i32.const 0
      local.get 0
      table.set 0
    end
    local.get 1
    call $kperf.leave
  )
  (func $g (;4;) (type $v)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 0
      call $looks
      i32.const 0
      call_indirect (type $v)
    end
    local.get 0
    call $kperf.leave
  )
)

;)
