;; A module that only throws has no use for `unwind`.
(module
  (tag $e)
  (func $f (throw $e)))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (tag $e (;0;) (type 0))
  (func $f (;2;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
      throw $e
    end
    local.get 0
    call $kperf.leave
  )
)

;)
