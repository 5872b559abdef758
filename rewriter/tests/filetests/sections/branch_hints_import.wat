;; --skip h
;; Hints move with their instructions, in functions with and without a probe.
(module
  (import "host" "f" (func $import))
  (type $pair (func (result i32 i32)))
  (tag $t (param i32))
  (func $f (export "f") (param i32) (local i32 i64)
    (call $import)
    (@metadata.code.branch_hint "\01") (if (local.get 0) (then
      (call $import)
      (block $b (@metadata.code.branch_hint "\00") (br_if $b (local.get 0)) (call $h (i32.const 1))))))
  (func $g (export "g") (param i32) (result i32 i32)
    (block $out (result i32)
      (try_table (result i32) (catch $t $out) (catch $t $out)
        (@metadata.code.branch_hint "\00") (br_if $out (i32.const 7) (local.get 0))))
    (i32.const 0))
  (func $h (param i32)
    (call $import)
    (@metadata.code.branch_hint "\01") (if (local.get 0) (then (call $import)))))
(; EXPECTED
0 = func[1] f
1 = func[2] g
(module
  (type $pair (;0;) (func (result i32 i32)))
  (type (;1;) (func))
  (type (;2;) (func (param i32)))
  (type (;3;) (func (param i32) (result i32 i32)))
  (type (;4;) (func (param i32) (result i32)))
  (type (;5;) (func (result i32)))
  (type (;6;) (func (param i32 i32)))
  (type (;7;) (func (result i32 (ref exn))))
  (import "host" "f" (func $import (;0;) (type 1)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 4) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 2) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;3;) (type 2) (param i32)))
  (import "kperf" "depth" (func $kperf.depth (;4;) (type 5) (result i32)))
  (import "kperf" "close" (func $kperf.close (;5;) (type 6) (param i32 i32)))
  (tag $t (;0;) (type 2) (param i32))
  (export "f" (func $f))
  (export "g" (func $g))
  (func $f (;6;) (type 2) (param i32)
    (local i32 i64 i32)
    i32.const 0
    call $kperf.enter
    local.set 3
    block ;; label = @1
      call $import
      local.get 3
      call $kperf.unwind
      local.get 0
      (@metadata.code.branch_hint "\01")
      if ;; label = @2
        call $import
        local.get 3
        call $kperf.unwind
        block $b
          local.get 0
          (@metadata.code.branch_hint "\00")
          br_if $b
          i32.const 1
          call $h
        end
      end
    end
    local.get 3
    call $kperf.leave
  )
  (func $g (;7;) (type 3) (param i32) (result i32 i32)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 1
    block (type $pair) (result i32 i32) ;; label = @1
      block (result i32) ;; label = @2
        block (result i32) ;; label = @3
          block (result i32) ;; label = @4
            block (result i32) ;; label = @5
              try_table (result i32) (catch $t 0 (;@5;)) (catch $t 1 (;@4;)) ;; label = @6
                i32.const 7
                local.get 0
                (@metadata.code.branch_hint "\00")
                br_if 4 (;@2;)
              end
              br 2 (;@3;)
            end
            local.get 1
            call $kperf.unwind
            br 2 (;@2;)
          end
          local.get 1
          call $kperf.unwind
          br 1 (;@2;)
        end
      end
      i32.const 0
    end
    local.get 1
    call $kperf.leave
  )
  (func $h (;8;) (type 2) (param i32)
    (local i32)
    call $kperf.depth
    i32.const 1
    i32.add
    local.set 1
    call $import
    i32.const 0
    local.get 1
    i32.const 1
    i32.sub
    call $kperf.close
    local.get 0
    (@metadata.code.branch_hint "\01")
    if ;; label = @1
      call $import
      i32.const 0
      local.get 1
      i32.const 1
      i32.sub
      call $kperf.close
    end
  )
)

;)
