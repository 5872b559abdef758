(module
  (type $s (struct))
  (func $null (param (ref null $s)) (br_on_null 0 (local.get 0)) drop)
  (func $non_null (param (ref null $s)) (result (ref $s)) (br_on_non_null 0 (local.get 0)) unreachable)
  (func $cast (param anyref) (result (ref $s)) (br_on_cast 0 anyref (ref $s) (local.get 0)) unreachable)
  (func $fail (param anyref) (result anyref) (br_on_cast_fail 0 anyref (ref $s) (local.get 0))))
(; EXPECTED
0 = func[0] null
1 = func[1] non_null
2 = func[2] cast
3 = func[3] fail
(module
  (type $s (;0;) (struct))
  (type (;1;) (func (param (ref null $s))))
  (type (;2;) (func (param (ref null $s)) (result (ref $s))))
  (type (;3;) (func (param anyref) (result (ref $s))))
  (type (;4;) (func (param anyref) (result anyref)))
  (type (;5;) (func (param i32) (result i32)))
  (type (;6;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 5) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 6) (param i32)))
  (func $null (;2;) (type 1) (param (ref null $s))
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block ;; label = @1
      local.get 0
      br_on_null 0 (;@1;)
      drop
    end
    local.get 1
    call $kperf.leave
  )
  (func $non_null (;3;) (type 2) (param (ref null $s)) (result (ref $s))
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 1
    block (result (ref $s)) ;; label = @1
      local.get 0
      br_on_non_null 0 (;@1;)
      unreachable
    end
    local.get 1
    call $kperf.leave
  )
  (func $cast (;4;) (type 3) (param anyref) (result (ref $s))
    (local i32)
    i32.const 2
    call $kperf.enter
    local.set 1
    block (result (ref $s)) ;; label = @1
      local.get 0
      br_on_cast 0 (;@1;) anyref (ref $s)
      unreachable
    end
    local.get 1
    call $kperf.leave
  )
  (func $fail (;5;) (type 4) (param anyref) (result anyref)
    (local i32)
    i32.const 3
    call $kperf.enter
    local.set 1
    block (result anyref) ;; label = @1
      local.get 0
      br_on_cast_fail 0 (;@1;) anyref (ref $s)
    end
    local.get 1
    call $kperf.leave
  )
)

;)
