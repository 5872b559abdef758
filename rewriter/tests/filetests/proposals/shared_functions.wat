;; --imports
;; A shared function may call only shared ones, so it gets no probe, nor does a shared import a thunk.
(module
  (type $s (shared (func)))
  (import "host" "shared" (func $host (type $s)))
  (func $shared (type $s) (call $host))
  (func $plain (param i32) (call $shared)))
(; EXPECTED
warning: no probe in `host.shared` (function 0): shared functions may only call shared functions
warning: no probe in `shared` (function 1): shared functions may only call shared functions
0 = func[2] plain
(module
  (type $s (;0;) (shared (func)))
  (type (;1;) (func (param i32)))
  (type (;2;) (func (param i32) (result i32)))
  (import "host" "shared" (func $host (;0;) (type $s)))
  (import "kperf" "enter" (func $kperf.enter (;1;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;2;) (type 1) (param i32)))
  (func $shared (;3;) (type $s)
    call $host
  )
  (func $plain (;4;) (type 1) (param i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 1
    block ;; label = @1
      call $shared
    end
    local.get 1
    call $kperf.leave
  )
)

;)
