;; Spans as lines of JSON, exact under the test clock: a call that ends, one whose exception is caught.
;; RUN: run --clock test -q %
;; RUN: export spans.kperf --format otlp-json -o - --seed 1
;; RUN: export spans.kperf --format otlp-json -o spans.jsonl --seed 1 --min-duration 2us
;; CAT: spans.jsonl
(module
  (tag $tag)
  (func $thrower (throw $tag))
  (func $catcher
    (block $caught (try_table (catch $tag $caught) (call $thrower))))
  (func $main (export "_start") (call $catcher) (call $leaf))
  (func $leaf))
