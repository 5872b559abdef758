;; The test clock has no measured cost, so that nothing can be taken off.
;; RUN: run --clock test -q %
;; FAIL: report compensate.kperf --compensate
(module (func (export "_start")))
