;; Names move with what they name: functions by the imports, labels by the block around the body.
(module $m
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (memory $mem 1)
  (global $glob i32 (i32.const 0))
  (func $f (param $x i32) (local $y i64)
    (block $outer (loop $inner (br_if $outer (local.get $x)) (br $inner)))))
(; EXPECTED
0 = func[1] f
(module $m
  (type (;0;) (func (result i32)))
  (type (;1;) (func (param i32)))
  (type (;2;) (func (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (;0;) (type 0) (result i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 1) (param i32)))
  (memory $mem (;0;) 1)
  (global $glob (;0;) i32 i32.const 0)
  (func $f (;3;) (type 1) (param $x i32)
    (local $y i64) (local $kperf.token i32)
    i32.const 0
    call $kperf.enter
    local.set $kperf.token
    block ;; label = @1
      block $outer
        loop $inner
          local.get $x
          br_if $outer
          br $inner
        end
      end
    end
    local.get $kperf.token
    call $kperf.leave
  )
)

;)
