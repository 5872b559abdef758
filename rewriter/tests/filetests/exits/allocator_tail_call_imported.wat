;; --allocations
;; Only the recorder knows the outermost call, so these are calls.
(module
  (type $t (func (param i32) (result i32)))
  (tag $e (param i32))
  (func $thrower (type $t) (throw $e (local.get 0)))
  (func $malloc (export "malloc") (type $t)
    (block $h (result i32)
      (try_table (result i32) (catch $e $h)
        (if (i32.eqz (local.get 0)) (then (return (i32.const 8))))
        (return_call $thrower (local.get 0)))))
  (func $calloc (export "calloc") (param i32 i32) (result i32)
    (if (local.get 0) (then (return_call $malloc (local.get 1))))
    (return_call_ref $t (local.get 1) (ref.null $t))))
(; EXPECTED
0 = func[0] thrower
1 = func[1] malloc
2 = func[2] calloc
(module
  (type $t (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (param i32)))
  (type (;2;) (func (param i32 i32) (result i32)))
  (type (;3;) (func (param i32 i64 i64 i64)))
  (type (;4;) (func (param i32 i64 i64)))
  (type (;5;) (func (param i64)))
  (type (;6;) (func (result i32 (ref exn))))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type $t) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 1) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 1) (param i32)))
  (import "kperf" "allocating" (func $kperf.allocating (;3;) (type 1) (param i32)))
  (import "kperf" "allocated" (func $kperf.allocated (;4;) (type 3) (param i32 i64 i64 i64)))
  (import "kperf" "grew" (func $kperf.grew (;5;) (type 4) (param i32 i64 i64)))
  (import "kperf" "created" (func $kperf.created (;6;) (type 5) (param i64)))
  (tag $e (;0;) (type 1) (param i32))
  (export "malloc" (func $malloc))
  (export "calloc" (func $calloc))
  (func $thrower (;7;) (type $t) (param i32) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
      throw $e
    end
    local.get 1
    call $kperf.leave
  )
  (func $malloc (;8;) (type $t) (param i32) (result i32)
    (local i32 i64 i64 i32 i32)
    i32.const 1
    call $kperf.enter
    local.set 1
    local.get 1
    call $kperf.allocating
    local.get 0
    i64.extend_i32_u
    local.set 3
    block (result i32) ;; label = @1
      block ;; label = @2
        block (result i32) ;; label = @3
          block (result i32) ;; label = @4
            block (result i32) ;; label = @5
              try_table (result i32) (catch $e 0 (;@5;)) ;; label = @6
                local.get 0
                i32.eqz
                if ;; label = @7
                  i32.const 8
                  br 6 (;@1;)
                end
                local.get 0
                local.set 5
                br 4 (;@2;)
              end
              br 1 (;@4;)
            end
            local.get 1
            call $kperf.unwind
            br 1 (;@3;)
          end
        end
        br 1 (;@1;)
      end
      local.get 5
      call $thrower
    end
    local.tee 4
    local.get 1
    call $kperf.leave
    local.get 1
    i64.const 0
    local.get 3
    local.get 4
    i64.extend_i32_u
    call $kperf.allocated
  )
  (func $calloc (;9;) (type 2) (param i32 i32) (result i32)
    (local i32 i64 i64 i32 i32 i32 i32 (ref null $t))
    i32.const 2
    call $kperf.enter
    local.set 2
    local.get 2
    call $kperf.allocating
    local.get 0
    i64.extend_i32_u
    local.get 1
    i64.extend_i32_u
    i64.mul
    local.set 4
    block (result i32) ;; label = @1
      block ;; label = @2
        local.get 0
        if ;; label = @3
          local.get 1
          local.set 7
          i32.const 0
          local.set 6
          br 1 (;@2;)
        end
        local.get 1
        ref.null $t
        local.set 9
        local.set 8
        i32.const 1
        local.set 6
        br 0 (;@2;)
        br 1 (;@1;)
      end
      local.get 6
      i32.const 0
      i32.eq
      if ;; label = @2
        local.get 7
        call $malloc
        br 1 (;@1;)
      end
      local.get 8
      local.get 9
      call_ref $t
    end
    local.tee 5
    local.get 2
    call $kperf.leave
    local.get 2
    i64.const 0
    local.get 4
    local.get 5
    i64.extend_i32_u
    call $kperf.allocated
  )
)

;)
