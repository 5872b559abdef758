;; Formats that aren't text. tests/loaders.rs reads them with the tools they are for.
;; RUN: run --clock test -q %
;; RUN: export binary.kperf --format perfetto -o binary.pftrace
;; HEX: binary.pftrace
;; RUN: export binary.kperf --format parquet -o binary.parquet
;; RUN: export binary.kperf --format pprof -o binary.pb.gz
;; LIST: .
(module
  (func $leaf)
  (func $main (export "_start") (call $leaf)))
