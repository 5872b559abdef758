;; RUN: run --clock test -q % --trace t.kperf --skip unseen
;; RUN: info t.kperf
;; RUN: info t.kperf --format json
;; RUN: info - < t.kperf
(module
  (func $seen) (func $unseen)
  (func (export "_start") (call $seen) (call $unseen)))
