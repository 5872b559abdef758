;; RUN: run --clock test -q %
;; RUN: report long_names.kperf
;; RUN: report long_names.kperf --full-names
(module
  (func $leaf)
  (func $_ZN8a_module17a_very_long_class36with_a_method_whose_name_is_too_longERKSt6vectorISt6vectorIiSaIiEESaIS3_EE (call $leaf))
  (func $_start (export "_start")
    (call $_ZN8a_module17a_very_long_class36with_a_method_whose_name_is_too_longERKSt6vectorISt6vectorIiSaIiEESaIS3_EE)))
