;; An exception passes through frames: they are closed where it is caught, and what follows hangs where it belongs.
;; RUN: run --clock test %
;; RUN: replay exceptions_caught.kperf
(module
  (tag $t (param i32))
  (func $throws (throw $t (i32.const 7)))
  (func $between (call $throws) (call $after))
  (func $after)
  (func $catches (result i32)
    (block $h (result i32)
      (try_table (catch $t $h) (call $between))
      (i32.const 0)))
  (func $catches_own
    (block $h (result exnref)
      (try_table (catch_all_ref $h) (throw $t (i32.const 1)))
      (return))
    (call $after)
    drop)
  (func (export "_start")
    (drop (call $catches))
    (call $after)
    (call $catches_own)
    (call $after)))
