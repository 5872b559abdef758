;; FAIL: rewrite % -o out.wasm --only 'lief::*'
;; FAIL: rewrite % -o out.wasm --skip '*'
;; FAIL: rewrite % -o out.wasm --only step --skip '*st*'
;; FAIL: rewrite % -o out.wasm --only '/(/'
;; FAIL: rewrite % -o out.wasm --min-instructions 1000
;; FAIL: rewrite % -o out.wasm --exports
;; FAIL: rewrite % --list --only 'lief::*'
;; LIST: .
(module (func $_ZN4life4stepEv) (func $step (call $_ZN4life4stepEv)))
