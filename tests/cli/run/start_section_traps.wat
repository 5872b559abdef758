;; EXIT: 134 run --clock test -q %
;; RUN: replay start_section_traps.kperf
(module (func $init unreachable) (start $init) (func (export "_start")))
