;; Only the first name section counts: the others are dropped, not filled with all names once more each.
(module
  (func)
  (@custom "name" "\01\04\01\00\01b")
  (@custom "name" "\01\04\01\00\01c")
  (@custom "producers" "\00")
  (@custom "producers" "\00"))
(; EXPECTED
warning: dropped the custom section `name`: its offsets don't hold for the rewritten module
0 = func[0] b
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (func $b (;2;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
)

;)
