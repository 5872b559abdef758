;; Both proposals in one body: `delegate`, `rethrow` and branches count the pads.
(module
  (tag $e)
  (func $f
    try
      block $l
        try_table (catch $e $l)
          try
            call $f
          delegate 2
          br 2
        end
      end
    catch_all
      block $m
        try_table (catch_all $m)
          rethrow 2
        end
      end
    end))
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
      try ;; label = @2
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              try_table (catch $e 0 (;@5;)) ;; label = @6
                try ;; label = @7
                  call $f
                delegate 4 (;@2;)
                br 4 (;@2;)
              end
              br 1 (;@4;)
            end
            local.get 0
            call $kperf.unwind
            br 1 (;@3;)
          end
        end
      catch_all
        local.get 0
        call $kperf.unwind
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              try_table (catch_all 0 (;@5;)) ;; label = @6
                rethrow 4 (;@2;)
              end
              br 1 (;@4;)
            end
            local.get 0
            call $kperf.unwind
            br 1 (;@3;)
          end
        end
      end
    end
    local.get 0
    call $kperf.leave
  )
)

;)
