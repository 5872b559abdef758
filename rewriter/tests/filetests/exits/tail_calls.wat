;; Leave, then jump: the stack stays as flat as it was.
(module
  (type $t (func (param i32) (result i32)))
  (table 1 funcref)
  (elem declare func $f)
  (func $f (type $t) (return_call $g (local.get 0)))
  (func $g (type $t) (return_call_indirect (type $t) (local.get 0) (i32.const 0)))
  (func $h (type $t) (return_call_ref $t (local.get 0) (ref.func $f)))
  (func $i (type $t) (if (result i32) (local.get 0) (then (return_call $f (i32.const 1))) (else (i32.const 2)))))
(; EXPECTED
0 = func[0] f
1 = func[1] g
2 = func[2] h
3 = func[3] i
(module
  (type $t (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type $t) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 1) (param i32)))
  (table (;0;) 1 funcref)
  (elem (;0;) declare func $f)
  (func $f (;2;) (type $t) (param i32) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
      local.get 1
      call $kperf.leave
      return_call $g
    end
    local.get 1
    call $kperf.leave
  )
  (func $g (;3;) (type $t) (param i32) (result i32)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
      i32.const 0
      local.get 1
      call $kperf.leave
      return_call_indirect (type $t)
    end
    local.get 1
    call $kperf.leave
  )
  (func $h (;4;) (type $t) (param i32) (result i32)
    (local i32)
    i32.const 2
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
      ref.func $f
      local.get 1
      call $kperf.leave
      return_call_ref $t
    end
    local.get 1
    call $kperf.leave
  )
  (func $i (;5;) (type $t) (param i32) (result i32)
    (local i32)
    i32.const 3
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
      if (result i32) ;; label = @2
        i32.const 1
        local.get 1
        call $kperf.leave
        return_call $f
      else
        i32.const 2
      end
    end
    local.get 1
    call $kperf.leave
  )
)

;)
