;; What stands on stderr after a run: the head, the twenty functions with the most time, the trace's name.
;; RUN: run --clock test % --trace other.kperf
(module
  (func $f1) (func $f2) (func $f3) (func $f4) (func $f5) (func $f6) (func $f7) (func $f8) (func $f9) (func $f10)
  (func $f11) (func $f12) (func $f13) (func $f14) (func $f15) (func $f16) (func $f17) (func $f18) (func $f19) (func $f20)
  (func $_ZN8a_module17a_very_long_class36with_a_method_whose_name_is_too_longERKSt6vectorISt6vectorIiSaIiEESaIS3_EE
    (call $f1) (call $f1))
  (func $main (export "_start")
    (call $f1) (call $f2) (call $f3) (call $f4) (call $f5) (call $f6) (call $f7) (call $f8) (call $f9) (call $f10)
    (call $f11) (call $f12) (call $f13) (call $f14) (call $f15) (call $f16) (call $f17) (call $f18) (call $f19) (call $f20)
    (call $_ZN8a_module17a_very_long_class36with_a_method_whose_name_is_too_longERKSt6vectorISt6vectorIiSaIiEESaIS3_EE)))
