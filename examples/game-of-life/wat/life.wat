;; Conway's Game of Life on a 20x20 board: `life [STEPS]`, 500 steps if not told.
;;
;; The call structure is the point, not the speed: one step makes 4,001 calls
;; (see ../README.md). There is no runtime: it speaks WASI preview 1 by hand.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get"
    (func $args_sizes_get (param $argc i32) (param $size i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get"
    (func $args_get (param $argv i32) (param $buffer i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param $fd i32) (param $iovs i32) (param $n i32) (param $written i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param $code i32)))

  (memory (export "memory") 2)
  ;; 0: argc, the arguments' size, the number of bytes written.
  ;; 16: iovecs (address, length): the line, whose two numbers are filled in, and the usage.
  (data (i32.const 16) "\00\00\00\00\00\00\00\00" "\40\00\00\00\08\00\00\00"
                       "\00\00\00\00\00\00\00\00" "\48\00\00\00\0c\00\00\00"
                       "\54\00\00\00\14\00\00\00")
  (data (i32.const 64) " steps, " " live cells\n" "usage: life [STEPS]\n")
  ;; 128: the cells of a glider, each as row * 20 + column from its upper left corner (5 bytes).
  ;; 136: where the gliders start (4 u16). They collide, and the board comes to rest at step 592.
  (data (i32.const 128) "\01\16\28\29\2a")
  (data (i32.const 136) "\1d\00\5f\00\33\01\3d\01")
  ;; 176: the end of the digits of the steps, 192: of the live cells. 1024, 2048: the boards, one
  ;; byte a cell. 4096: argv, and behind its pointers the arguments.

  (func $main (export "_start")
    (local $steps i32) (local $at i32) (local $digit i32)
    (local.set $steps (i32.const 500))
    (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))
    (if (i32.gt_u (i32.load (i32.const 0)) (i32.const 1))
      (then
        (drop (call $args_get (i32.const 4096)
          (i32.add (i32.const 4096) (i32.mul (i32.load (i32.const 0)) (i32.const 4)))))
        (local.set $at (i32.load (i32.const 4100)))
        (local.set $steps (i32.const 0))
        (loop $digits
          (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))) ;; '0'
          (if (i32.gt_u (local.get $digit) (i32.const 9))
            (then
              (drop (call $fd_write (i32.const 2) (i32.const 48) (i32.const 1) (i32.const 8)))
              (call $proc_exit (i32.const 2))))
          (local.set $steps
            (i32.add (i32.mul (local.get $steps) (i32.const 10)) (local.get $digit)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br_if $digits (i32.load8_u (local.get $at))))))
    (call $format (local.get $steps) (i32.const 176) (i32.const 16))
    (call $format (call $play (local.get $steps)) (i32.const 192) (i32.const 32))
    ;; One part at a time: a host may write less than all of several.
    (local.set $at (i32.const 16))
    (loop $parts
      (drop (call $fd_write (i32.const 1) (local.get $at) (i32.const 1) (i32.const 8)))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $parts (i32.lt_u (local.get $at) (i32.const 48)))))

  ;; Writes $number in decimal so that it ends before $end, and sets $iovec to it.
  (func $format (param $number i32) (param $end i32) (param $iovec i32)
    (local $at i32)
    (local.set $at (local.get $end))
    (loop $digits
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 (local.get $at)
        (i32.add (i32.rem_u (local.get $number) (i32.const 10)) (i32.const 48)))
      (br_if $digits
        (local.tee $number (i32.div_u (local.get $number) (i32.const 10)))))
    (i32.store (local.get $iovec) (local.get $at))
    (i32.store offset=4 (local.get $iovec) (i32.sub (local.get $end) (local.get $at))))

  ;; Plays $steps steps from the seeds and counts the cells that live at the end.
  (func $play (param $steps i32) (result i32)
    (local $board i32) (local $next i32) (local $i i32) (local $j i32) (local $live i32)
    (local.set $board (i32.const 1024))
    (local.set $next (i32.const 2048))
    (loop $gliders
      (local.set $j (i32.const 0))
      (loop $cells
        (i32.store8 offset=1024
          (i32.add (i32.load16_u offset=136 (local.get $i)) (i32.load8_u offset=128 (local.get $j)))
          (i32.const 1))
        (local.set $j (i32.add (local.get $j) (i32.const 1)))
        (br_if $cells (i32.lt_u (local.get $j) (i32.const 5))))
      (local.set $i (i32.add (local.get $i) (i32.const 2)))
      (br_if $gliders (i32.lt_u (local.get $i) (i32.const 8))))
    (block $played
      (loop $steps
        (br_if $played (i32.eqz (local.get $steps)))
        (call $step (local.get $board) (local.get $next))
        (local.get $board)
        (local.set $board (local.get $next))
        (local.set $next)
        (local.set $steps (i32.sub (local.get $steps) (i32.const 1)))
        (br $steps)))
    (local.set $i (i32.const 0))
    (loop $cells
      (local.set $live
        (i32.add (local.get $live) (i32.load8_u (i32.add (local.get $board) (local.get $i)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $cells (i32.lt_u (local.get $i) (i32.const 400))))
    (local.get $live))

  (func $step (param $board i32) (param $next i32)
    (local $row i32) (local $col i32)
    (loop $rows
      (local.set $col (i32.const 0))
      (loop $cols
        (i32.store8 (local.get $next)
          (call $shouldBecomeLive (local.get $board) (local.get $row) (local.get $col)))
        (local.set $next (i32.add (local.get $next) (i32.const 1)))
        (local.set $col (i32.add (local.get $col) (i32.const 1)))
        (br_if $cols (i32.lt_u (local.get $col) (i32.const 20))))
      (local.set $row (i32.add (local.get $row) (i32.const 1)))
      (br_if $rows (i32.lt_u (local.get $row) (i32.const 20)))))

  (func $shouldBecomeLive (param $board i32) (param $row i32) (param $col i32) (result i32)
    (local $live i32)
    (local.set $live
      (call $nLiveNeighbors (local.get $board) (local.get $row) (local.get $col)))
    (i32.or
      (i32.eq (local.get $live) (i32.const 3))
      (i32.and
        (i32.eq (local.get $live) (i32.const 2))
        (i32.load8_u (i32.add (local.get $board)
          (i32.add (i32.mul (local.get $row) (i32.const 20)) (local.get $col)))))))

  (func $nLiveNeighbors (param $board i32) (param $row i32) (param $col i32) (result i32)
    (local $r i32) (local $c i32) (local $live i32)
    (local.set $r (i32.sub (local.get $row) (i32.const 1)))
    (loop $rows
      (local.set $c (i32.sub (local.get $col) (i32.const 1)))
      (loop $cols
        (block $skip
          (br_if $skip (i32.and
            (i32.eq (local.get $r) (local.get $row)) (i32.eq (local.get $c) (local.get $col))))
          (br_if $skip (i32.eqz (call $isValidPosition (local.get $r) (local.get $c))))
          (local.set $live (i32.add (local.get $live)
            (i32.load8_u (i32.add (local.get $board)
              (i32.add (i32.mul (local.get $r) (i32.const 20)) (local.get $c)))))))
        (local.set $c (i32.add (local.get $c) (i32.const 1)))
        (br_if $cols (i32.le_s (local.get $c) (i32.add (local.get $col) (i32.const 1)))))
      (local.set $r (i32.add (local.get $r) (i32.const 1)))
      (br_if $rows (i32.le_s (local.get $r) (i32.add (local.get $row) (i32.const 1)))))
    (local.get $live))

  ;; The board ends at its edges: there is no wrapping around.
  (func $isValidPosition (param $row i32) (param $col i32) (result i32)
    (i32.and
      (i32.lt_u (local.get $row) (i32.const 20))
      (i32.lt_u (local.get $col) (i32.const 20)))))
