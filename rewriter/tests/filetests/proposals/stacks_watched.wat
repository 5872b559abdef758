;; --only plain
;; A function that resumes a stack and catches: the labels of its handlers move with the others.
(module
  (type $ft (func))
  (type $ct (cont $ft))
  (tag $t)
  (func $g (suspend $t))
  (func $plain)
  (func $f (export "f")
    (block $h (result (ref $ct))
      (block $l
        (try_table (catch_all $l)
          (resume $ct (on $t $h) (cont.new $ct (ref.func $g)))
          (call $plain)))
      (return))
    (drop))
  (elem declare func $g))
(; EXPECTED
0 = func[1] plain
(module
  (type $ft (;0;) (func))
  (type $ct (;1;) (cont $ft))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32)))
  (type (;4;) (func (result i32)))
  (type (;5;) (func (param i32 i32)))
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 2) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 3) (param i32)))
  (import "kperf" "depth" (func $kperf.depth (;2;) (type 4) (result i32)))
  (import "kperf" "close" (func $kperf.close (;3;) (type 5) (param i32 i32)))
  (tag $t (;0;) (type $ft))
  (export "f" (func $f))
  (elem (;0;) declare func $g)
  (func $g (;4;) (type $ft)
    suspend $t
  )
  (func $plain (;5;) (type $ft)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
  (func $f (;6;) (type $ft)
    (local i32)
    call $kperf.depth
    i32.const 1
    i32.add
    local.set 0
    block (result (ref $ct)) ;; label = @1
      block ;; label = @2
        block ;; label = @3
          block ;; label = @4
            try_table (catch_all 0 (;@4;)) ;; label = @5
              ref.func $g
              cont.new $ct
              resume $ct (on $t 4 (;@1;))
              call $plain
            end
            br 1 (;@3;)
          end
          i32.const 0
          local.get 0
          i32.const 1
          i32.sub
          call $kperf.close
          br 1 (;@2;)
        end
      end
      return
    end
    drop
  )
)

;)
