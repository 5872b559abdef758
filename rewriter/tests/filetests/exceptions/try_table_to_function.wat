;; Clauses may name the function itself, or a loop, which normal control reaches too.
(module
  (tag $e (param i32))
  (func $f (result i32)
    (try_table (catch $e 0) (call $g))
    (i32.const 1))
  (func $g
    (loop $again
      (try_table (catch_all $again) (call $g) (br $again)))))
(; EXPECTED
0 = func[0] f
1 = func[1] g
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func (result i32)))
  (type (;2;) (func))
  (type (;3;) (func (param i32) (result i32)))
  (type (;4;) (func (result i32 (ref exn))))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 3) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 0) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 0) (param i32)))
  (tag $e (;0;) (type 0) (param i32))
  (func $f (;3;) (type 1) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      block ;; label = @2
        block (result i32) ;; label = @3
          try_table (catch $e 0 (;@3;)) ;; label = @4
            call $g
          end
          br 1 (;@2;)
        end
        local.get 0
        call $kperf.unwind
        br 1 (;@1;)
      end
      i32.const 1
    end
    local.get 0
    call $kperf.leave
  )
  (func $g (;4;) (type 2)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block ;; label = @1
      loop ;; label = @2
        block ;; label = @3
          block ;; label = @4
            try_table (catch_all 0 (;@4;)) ;; label = @5
              call $g
              br 3 (;@2;)
            end
            br 1 (;@3;)
          end
          local.get 0
          call $kperf.unwind
          br 1 (;@2;)
        end
      end
    end
    local.get 0
    call $kperf.leave
  )
)

;)
