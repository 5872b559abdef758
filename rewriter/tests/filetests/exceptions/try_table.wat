;; Every kind of clause gets a pad of its own; what leaves the `try_table` from inside counts the pads too.
(module
  (tag $e (param i32 i64))
  (tag $empty)
  (func $f (result i32)
    (block $outer
      (block $ref (result i32 i64 exnref)
        (block $val (result i32 i64)
          (block $all_ref (result exnref)
            (block $all
              (try_table (result i32) (catch $e $val) (catch_ref $e $ref) (catch $empty $outer) (catch_all_ref $all_ref) (catch_all $all)
                (br_if $outer (i32.const 0))
                (throw $empty)
                (block (br 0) (br_table 2 2 (i32.const 7)))
                unreachable)
              (return))
            (return (i32.const 1)))
          (throw_ref))
        drop
        (return))
      drop drop drop)
    (i32.const 5)))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func (param i32 i64)))
  (type (;1;) (func))
  (type (;2;) (func (result i32)))
  (type (;3;) (func (result i32 i64 exnref)))
  (type (;4;) (func (result i32 i64)))
  (type (;5;) (func (param i32) (result i32)))
  (type (;6;) (func (param i32)))
  (type (;7;) (func (result i32 i64 (ref exn))))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 5) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 6) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 6) (param i32)))
  (tag $e (;0;) (type 0) (param i32 i64))
  (tag $empty (;1;) (type 1))
  (func $f (;3;) (type 2) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      block ;; label = @2
        block (type 3) (result i32 i64 exnref) ;; label = @3
          block (type 4) (result i32 i64) ;; label = @4
            block (result exnref) ;; label = @5
              block ;; label = @6
                block (result i32) ;; label = @7
                  block ;; label = @8
                    block (result (ref exn)) ;; label = @9
                      block ;; label = @10
                        block (type 7) (result i32 i64 (ref exn)) ;; label = @11
                          block (type 4) (result i32 i64) ;; label = @12
                            try_table (result i32) (catch $e 0 (;@12;)) (catch_ref $e 1 (;@11;)) (catch $empty 2 (;@10;)) (catch_all_ref 3 (;@9;)) (catch_all 4 (;@8;)) ;; label = @13
                              i32.const 0
                              br_if 11 (;@2;)
                              throw $empty
                              block ;; label = @14
                                br 0 (;@14;)
                                i32.const 7
                                br_table 8 (;@6;) 8 (;@6;)
                              end
                              unreachable
                            end
                            br 5 (;@7;)
                          end
                          local.get 0
                          call $kperf.unwind
                          br 7 (;@4;)
                        end
                        local.get 0
                        call $kperf.unwind
                        br 7 (;@3;)
                      end
                      local.get 0
                      call $kperf.unwind
                      br 7 (;@2;)
                    end
                    local.get 0
                    call $kperf.unwind
                    br 3 (;@5;)
                  end
                  local.get 0
                  call $kperf.unwind
                  br 1 (;@6;)
                end
                br 5 (;@1;)
              end
              i32.const 1
              br 4 (;@1;)
            end
            throw_ref
          end
          drop
          br 2 (;@1;)
        end
        drop
        drop
        drop
      end
      i32.const 5
    end
    local.get 0
    call $kperf.leave
  )
)

;)
