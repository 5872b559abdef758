(module
  (func $f (result i32) unreachable)
  (func $g (result i32) (loop (br 0)) unreachable i32.add))
(; EXPECTED
0 = func[0] f
1 = func[1] g
(module
  (type (;0;) (func (result i32)))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (func $f (;2;) (type 0) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      unreachable
    end
    local.get 0
    call $kperf.leave
  )
  (func $g (;3;) (type 0) (result i32)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      loop ;; label = @2
        br 0 (;@2;)
      end
      unreachable
      i32.add
    end
    local.get 0
    call $kperf.leave
  )
)

;)
