;; A trace without calls has nothing to export.
;; RUN: run --clock test -q % --only main
;; FAIL: export no_calls.kperf --format otlp-json -o -
(module (func $main) (func (export "_start")))
