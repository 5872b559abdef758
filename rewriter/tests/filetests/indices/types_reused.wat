;; The types of the probes are the module's where it has them.
(module
  (type (func (param i32)))
  (type (func (param i32) (result i32)))
  (func (type 0))
  (func (type 1) (local.get 0)))
(; EXPECTED
0 = func[0] func[0]
1 = func[1] func[1]
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func (param i32) (result i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 0) (param i32)))
  (func (;2;) (type 0) (param i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block ;; label = @1
    end
    local.get 1
    call $kperf.leave
  )
  (func (;3;) (type 1) (param i32) (result i32)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 1
    block (result i32) ;; label = @1
      local.get 0
    end
    local.get 1
    call $kperf.leave
  )
)

;)
