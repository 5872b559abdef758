;; Fills a block with end marks, all ones. JavaScript fills shared memory a few bytes at a time, three to five times as slowly.
(module $kperf_clear
  (import "js" "memory" (memory 1 65536 shared))
  (func (export "clear") (param $from i32) (param $to i32)
    (memory.fill (local.get $from) (i32.const 0xff) (i32.sub (local.get $to) (local.get $from)))))
