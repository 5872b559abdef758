;; Labels cross two sets of pads.
(module
  (tag $e)
  (func $f
    (block $l
      (try_table (catch_all $l)
        (block $m
          (try_table (catch $e $m) (catch_all $l)
            (br $m) (br $l) (return))
          (br $m))
        (br $l)))
    (nop)))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 2) (param i32)))
  (tag $e (;0;) (type 0))
  (func $f (;3;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      block ;; label = @2
        block ;; label = @3
          block ;; label = @4
            try_table (catch_all 0 (;@4;)) ;; label = @5
              block ;; label = @6
                block ;; label = @7
                  block ;; label = @8
                    block ;; label = @9
                      try_table (catch $e 0 (;@9;)) (catch_all 1 (;@8;)) ;; label = @10
                        br 4 (;@6;)
                        br 8 (;@2;)
                        br 9 (;@1;)
                      end
                      br 2 (;@7;)
                    end
                    local.get 0
                    call $kperf.unwind
                    br 2 (;@6;)
                  end
                  local.get 0
                  call $kperf.unwind
                  br 5 (;@2;)
                end
                br 0 (;@6;)
              end
              br 3 (;@2;)
            end
            br 1 (;@3;)
          end
          local.get 0
          call $kperf.unwind
          br 1 (;@2;)
        end
      end
      nop
    end
    local.get 0
    call $kperf.leave
  )
)

;)
