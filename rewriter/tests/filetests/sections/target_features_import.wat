;; Probes that are imported want nothing of an engine.
(module
  (@custom "target_features" (after last) "\01+\0bbulk-memory")
  (func (export "f")))
(; EXPECTED
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (export "f" (func 2))
  (func (;2;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
  (@custom "target_features" (after code) "\01+\0bbulk-memory")
)

;)
