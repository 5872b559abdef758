;; The table as JSON, for one module: an object.
;; RUN: rewrite % -o out.wasm --only same --symbol-table -
;; RUN: rewrite % -o out.wasm --imports --symbol-table symbols.json --skip unseen
;; CAT: symbols.json
(module
  (import "env" "log" (func $log (param i32)))
  (func $_RNvCs1234_7mycrate3foo (export "foo"))
  (func $_ZN4life4stepERKSt6vectorIiSaIiEE)
  (func $same) (func (export "caf\c3\a9 \"quoted\"")) (func) (func $unseen))
