;; Puts marks where the words of a block were, all ones. JavaScript fills shared memory a few bytes at a time, in three to five times
;; the time.
(module $kperf_clear
  (import "js" "memory" (memory 1 65536 shared))
  (func (export "clear") (param $from i32) (param $to i32)
    (memory.fill (local.get $from) (i32.const 0xff) (i32.sub (local.get $to) (local.get $from)))))
