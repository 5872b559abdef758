;; A data count, passive data and the start function; no segment is added.
(module
  (memory 1)
  (data $d "abc")
  (start $f)
  (func $f (memory.init $d (i32.const 0) (i32.const 0) (i32.const 3)) (data.drop $d)))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (memory (;0;) 1)
  (start $f)
  (func $f (;2;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      i32.const 0
      i32.const 0
      i32.const 3
      memory.init $d
      data.drop $d
    end
    local.get 0
    call $kperf.leave
  )
  (data $d (;0;) "abc")
)

;)
