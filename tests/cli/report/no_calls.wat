;; RUN: rewrite % -o probed.wasm --only never
;; RUN: run --clock test probed.wasm
;; RUN: report probed.kperf
;; RUN: report probed.kperf --format json
;; RUN: report probed.kperf --format csv
;; RUN: replay probed.kperf
;; RUN: info probed.kperf
;; FAIL: export probed.kperf --format kperf -o out
;; LIST: .
(module (func $never) (func (export "_start")))
