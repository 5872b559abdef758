;; --leaf count: `pure` is one event, its time is in `work`'s. What loads, divides or calls is timed as ever.
;; RUN: run --clock test --leaf count % --invoke work 3
;; RUN: rewrite % --probe inline --leaf count --list
;; RUN: rewrite % --probe inline --leaf count -o probed.wasm
;; RUN: info probed.wasm
;; RUN: run --clock test -q probed.wasm --leaf count --invoke work 3
;; RUN: info leaf.kperf
;; RUN: replay leaf.kperf
;; RUN: report leaf.kperf --sort calls
;; RUN: report leaf.kperf --percentiles
;; RUN: report leaf.kperf --format json --only pure
;; RUN: report leaf.kperf --format csv --percentiles
;; RUN: report leaf.kperf --call-graph
;; RUN: report leaf.kperf --callers pure
;; RUN: report leaf.kperf --callees work --format json
;; RUN: report leaf.kperf --histogram pure
;; RUN: report leaf.kperf --by namespace
;; RUN: report probed.kperf --only pure
;; RUN: graph leaf.kperf --format mermaid -o -
;; RUN: flame leaf.kperf --folded -o -
;; RUN: export leaf.kperf --format csv -o -
;; RUN: export leaf.kperf --format kperf -o out/
;; RUN: run --clock test -q --probe inline % --trace timed.kperf --invoke work 3
;; RUN: diff timed.kperf leaf.kperf
;; RUN: diff timed.kperf leaf.kperf --metric calls --format csv
;; FAIL: run --clock test --leaf count --probe import % --invoke work 3
;; FAIL: run --leaf count --record profile % --invoke work 3
;; FAIL: rewrite % --leaf count
;; RUN: rewrite % -o timed.wasm
;; FAIL: run --clock test --leaf count timed.wasm --invoke work 3
(module $guest
  (memory (export "memory") 1)
  (func $pure (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
  (func $loads (param i32) (result i32) (i32.load (local.get 0)))
  (func $divides (param i32) (result i32) (i32.div_s (local.get 0) (i32.const 2)))
  (func $work (export "work") (param i32) (result i32)
    (drop (call $loads (i32.const 0)))
    (loop $again
      (drop (call $pure (local.get 0)))
      (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
    (call $divides (i32.const 5))))
