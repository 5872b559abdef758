;; Throws and catches, with calls open in between.
(module
  (tag $thrown)
  (func $throws (param i32)
    (if (i32.eqz (local.get 0)) (then (throw $thrown)))
    (call $throws (i32.sub (local.get 0) (i32.const 1)))
    (drop (i32.add (local.get 0) (i32.const 1))))
  (func $catch (param i32)
    (block $caught (try_table (catch_all $caught) (call $throws (local.get 0)))))
  (func (export "catches") (param $depth i32) (param $times i32)
    (loop $again
      (call $catch (local.get $depth))
      (br_if $again (local.tee $times (i32.sub (local.get $times) (i32.const 1)))))))
