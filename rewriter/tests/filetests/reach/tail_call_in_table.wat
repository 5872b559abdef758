;; What stands in the table ends in the host's function.
(module
  (type $v (func))
  (import "env" "host" (func $host))
  (table 1 1 funcref)
  (elem (i32.const 0) $f)
  (func $f (return_call $host))
  (func $h (call_indirect (type $v) (i32.const 0)) (return_call_indirect (type $v) (i32.const 0)))
  (func $i (call $h)))
(; EXPECTED
0 = func[1] f
1 = func[2] h
2 = func[3] i
(module
  (type $v (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "env" "host" (func $host (;0;) (type $v)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 2) (param i32)))
  (table (;0;) 1 1 funcref)
  (elem (;0;) (i32.const 0) func $f)
  (func $f (;4;) (type $v)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      local.get 0
      call $kperf.leave
      return_call $host
    end
    local.get 0
    call $kperf.leave
  )
  (func $h (;5;) (type $v)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 0
      call_indirect (type $v)
      local.get 0
      call $kperf.unwind
      i32.const 0
      local.get 0
      call $kperf.leave
      return_call_indirect (type $v)
    end
    local.get 0
    call $kperf.leave
  )
  (func $i (;6;) (type $v)
    (local i32)
    i32.const 2
    call $kperf.enter
    local.set 0
    block ;; label = @1
      call $h
      local.get 0
      call $kperf.unwind
    end
    local.get 0
    call $kperf.leave
  )
)

;)
