;; The same with the legacy instructions, without the exception that is thrown on as a reference but rethrown.
(module
  (import "js" "throws" (func $js.throws))
  (import "js" "catches" (func $js.catches (param funcref)))
  (table $open (export "table") 1 funcref)
  (elem declare func $between)
  (func $after)
  (func $throws (call $js.throws) (call $after))
  (func $between (call $throws) (call $after))
  (func $guest_catches
    try call $between catch_all end
    (call $after))
  (func $guest_throws_on
    try call $between catch_all call $after rethrow 0 end)
  (func $through_javascript (call $js.catches (ref.func $between)) (call $after))
  ;; JavaScript puts a function of its own there, which calls `between` and catches.
  (func $through_table (call_indirect $open (i32.const 0)) (call $after))
  (func $main (export "_start")
    (call $guest_catches)
    (call $through_javascript)
    (call $through_table)
    (call $after)
    (call $guest_throws_on)
    (call $after))
  (func (export "between") (call $between)))
