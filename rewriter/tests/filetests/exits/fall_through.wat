;; --only f
;; The probe around a body that just ends; a second call keeps its target though indices move.
(module
  (func $f (param i32) (result i32) (i32.add (local.get 0) (call $g)))
  (func $g (result i32) (i32.const 1)))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func (param i32) (result i32)))
  (type (;1;) (func (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 0) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (func $f (;2;) (type 0) (param i32) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
      call $g
      i32.add
    end
    local.get 1
    call $kperf.leave
  )
  (func $g (;3;) (type 1) (result i32)
    i32.const 1
  )
)

;)
