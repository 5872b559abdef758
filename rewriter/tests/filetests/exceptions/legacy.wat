;; Legacy exceptions: `unwind` stands right behind `catch` and `catch_all`; `delegate` and `rethrow` keep their meaning.
(module
  (tag $e (param i32))
  (func $f (result i32)
    try (result i32)
      call $f
    catch $e
      drop
      rethrow 0
    catch_all
      i32.const 2
      return
    end)
  (func $g
    try
      try
        call $g
      delegate 0
      try
        call $g
      delegate 1
    catch_all
    end))
(; EXPECTED
0 = func[0] f
1 = func[1] g
(module
  (type (;0;) (func (param i32)))
  (type (;1;) (func (result i32)))
  (type (;2;) (func))
  (type (;3;) (func (param i32) (result i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 3) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 0) (param i32)))
  (import "kperf" "unwind" (func $kperf.unwind (;2;) (type 0) (param i32)))
  (tag $e (;0;) (type 0) (param i32))
  (func $f (;3;) (type 1) (result i32)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block (result i32) ;; label = @1
      try (result i32) ;; label = @2
        call $f
      catch $e
        local.get 0
        call $kperf.unwind
        drop
        rethrow 0 (;@2;)
      catch_all
        local.get 0
        call $kperf.unwind
        i32.const 2
        br 1 (;@1;)
      end
    end
    local.get 0
    call $kperf.leave
  )
  (func $g (;4;) (type 2)
    (local i32)
    i32.const 1
    call $kperf.enter
    local.set 0
    block ;; label = @1
      try ;; label = @2
        try ;; label = @3
          call $g
        delegate 0 (;@2;)
        try ;; label = @3
          call $g
        delegate 1 (;@1;)
      catch_all
        local.get 0
        call $kperf.unwind
      end
    end
    local.get 0
    call $kperf.leave
  )
)

;)
