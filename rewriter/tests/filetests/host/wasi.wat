;; --no-callbacks wasi_*
;; WASI never calls back: no `unwind`.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (func $f (call $exit (i32.const 1))))
(; EXPECTED
0 = func[1] f
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func))
  (type (;2;) (func (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (;0;) (type 0) (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 0) (param i32)))
  (func $f (;3;) (type 1)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 1
      call $exit
    end
    local.get 0
    call $kperf.leave
  )
)

;)
