;; `return` at every depth becomes a branch to the block around the body.
(module
  (func $f (param i32) (result i32)
    (if (local.get 0) (then (return (i32.const 1))))
    (block (loop (br_if 0 (local.get 0)) (return (i32.const 2))))
    (return (i32.const 3))))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 0) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 1) (param i32)))
  (func $f (;2;) (type 0) (param i32) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
      if ;; label = @2
        i32.const 1
        br 1 (;@1;)
      end
      block ;; label = @2
        loop ;; label = @3
          local.get 0
          br_if 0 (;@3;)
          i32.const 2
          br 2 (;@1;)
        end
      end
      i32.const 3
      br 0 (;@1;)
    end
    local.get 1
    call $kperf.leave
  )
)

;)
