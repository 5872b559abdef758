;; `f` ends in the host's function, and so does `g`: their callers look. Nobody calls through a reference.
(module
  (import "env" "host" (func $host))
  (func $f (return_call $host))
  (func $g (return_call $f))
  (func $h (call $g) (call $i))
  (func $i))
(; EXPECTED
0 = func[1] f
1 = func[2] g
2 = func[3] h
3 = func[4] i
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "env" "host" (func $host (;0;) (type 0)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 2) (param i32)))
  (func $f (;4;) (type 0)
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
  (func $g (;5;) (type 0)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block ;; label = @1
      local.get 0
      call $kperf.leave
      return_call $f
    end
    local.get 0
    call $kperf.leave
  )
  (func $h (;6;) (type 0)
    (local i32)
    i32.const 2
    call $kperf.enter
    local.set 0
    block ;; label = @1
      call $g
      local.get 0
      call $kperf.unwind
      call $i
    end
    local.get 0
    call $kperf.leave
  )
  (func $i (;7;) (type 0)
    (local i32)
    i32.const 3
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
)

;)
