;; What would be stale is dropped, and told in one line.
;; RUN: rewrite % -o out.wasm
;; RUN: info out.wasm
(module
  (func $f)
  (@custom ".debug_info" "abc")
  (@custom "sourceMappingURL" "abc")
  (@custom "mine" "kept"))
