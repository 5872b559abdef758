;; No tag says that this module catches: it shows only in the body.
(module
  (func $f (block $l (try_table (catch_all $l) (call $f)))))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 2) (param i32)))
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
              call $f
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
