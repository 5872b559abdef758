;; Copies a block to the queue. JavaScript copies shared memory a word at a time, half as fast.
(module $kperf_copy
  (import "js" "from" (memory $from 1 65536 shared))
  (import "js" "to" (memory $to 1 65536 shared))
  (func (export "copy") (param $to_address i32) (param $from_address i32) (param $length i32)
    (memory.copy $to $from (local.get $to_address) (local.get $from_address) (local.get $length))))
