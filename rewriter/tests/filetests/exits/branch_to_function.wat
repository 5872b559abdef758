;; Branches to the function's own label mean the block now, with the same numbers.
(module
  (func $f (param i32) (result i32)
    (br_if 0 (i32.const 1) (local.get 0))
    drop
    (block (result i32)
      (br_table 0 1 0 (i32.const 2) (local.get 0))))
  (func $g (br 0))
  (func $h (param i32) (block (block (br_table 0 1 2 (local.get 0))))))
(; EXPECTED
0 = func[0] f
1 = func[1] g
2 = func[2] h
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 0) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (func $f (;2;) (type 0) (param i32) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      i32.const 1
      local.get 0
      br_if 0 (;@1;)
      drop
      block (result i32) ;; label = @2
        i32.const 2
        local.get 0
        br_table 0 (;@2;) 1 (;@1;) 0 (;@2;)
      end
    end
    local.get 1
    call $kperf.leave
  )
  (func $g (;3;) (type 1)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block ;; label = @1
      br 0 (;@1;)
    end
    local.get 0
    call $kperf.leave
  )
  (func $h (;4;) (type 2) (param i32)
    (local i32)
    i32.const 2
    call $kperf.enter
    local.set 1
    block ;; label = @1
      block ;; label = @2
        block ;; label = @3
          local.get 0
          br_table 0 (;@3;) 1 (;@2;) 2 (;@1;)
        end
      end
    end
    local.get 1
    call $kperf.leave
  )
)

;)
