;; Parameters of the block wait in locals while the pads are opened.
(module
  (tag $e)
  (func $f (param f64) (result i32)
    (block $l
      (i32.const 1) (i64.const 2)
      (try_table (param i32 i64) (result i32) (catch $e $l) (drop))
      (return))
    (i32.const 3)))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param f64) (result i32)))
  (type (;2;) (func (param i32 i64) (result i32)))
  (type (;3;) (func (param i32) (result i32)))
  (type (;4;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 3) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 4) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 4) (param i32)))
  (tag $e (;0;) (type 0))
  (func $f (;3;) (type 1) (param f64) (result i32)
    (local i32 i32 i64)
    i32.const 0
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      block ;; label = @2
        i32.const 1
        i64.const 2
        block (type 2) (param i32 i64) (result i32) ;; label = @3
          local.set 3
          local.set 2
          block ;; label = @4
            local.get 2
            local.get 3
            try_table (type 2) (param i32 i64) (result i32) (catch $e 0 (;@4;)) ;; label = @5
              drop
            end
            br 1 (;@3;)
          end
          local.get 1
          call $kperf.unwind
          br 1 (;@2;)
        end
        br 1 (;@1;)
      end
      i32.const 3
    end
    local.get 1
    call $kperf.leave
  )
)

;)
