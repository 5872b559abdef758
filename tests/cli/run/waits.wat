;; A wait of the guest's own is a pause, and no function's self time: also where the function around it has no probe.
;; RUN: run --clock test -q --trace t.kperf % --invoke main
;; RUN: report t.kperf
;; RUN: replay t.kperf
;; RUN: run --clock test --probe import --skip lock -q --trace t.kperf % --invoke main
;; RUN: report t.kperf
(module
  (memory 1 1 shared)
  (func $lock (result i32)
    (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const 1000)))
  (func (export "main") (result i32)
    (call $lock)))
