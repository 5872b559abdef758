;; What would be wrong afterwards is dropped, and said; the rest stays in its place.
(module
  (@custom ".debug_info" (before first) "\01\02")
  (@custom "metadata.code.branch_hint" (before code) "\01")
  (@custom "sourceMappingURL" "\03a.b")
  (@custom "linking" "\02")
  (@custom "reloc.CODE" "\00")
  (@custom "corestack" "\00")
  (@custom "target_features" (after import) "\00")
  (@custom "mine" (after code) "kept")
  (func $f))
(; EXPECTED
warning: the debug information can't be read: unexpected end of input
warning: dropped the custom section `metadata.code.branch_hint`: its offsets don't hold for the rewritten module
warning: dropped the custom section `sourceMappingURL`: its offsets don't hold for the rewritten module
warning: dropped the custom section `linking`: its offsets don't hold for the rewritten module
warning: dropped the custom section `reloc.CODE`: its offsets don't hold for the rewritten module
warning: dropped the custom section `corestack`: its offsets don't hold for the rewritten module
warning: dropped the custom section `.debug_info`: its offsets don't hold for the rewritten module
0 = func[0] f
(module
  (type (;0;) (func))
  (type (;1;) (func (param i32) (result i32)))
  (type (;2;) (func (param i32)))
  (@custom "target_features" (after type) "\00")
  (import "kperf" "enter" (func $kperf.enter (;0;) (type 1) (param i32) (result i32)))
  (import "kperf" "leave" (func $kperf.leave (;1;) (type 2) (param i32)))
  (func $f (;2;) (type 0)
    (local i32)
    i32.const 0
    call $kperf.enter
    local.set 0
    block ;; label = @1
    end
    local.get 0
    call $kperf.leave
  )
  (@custom "mine" (after code) "kept")
)

;)
