//! Trampolines: modules that only call through a table that others fill.

use super::{names_of, rewrite};
use kperf_rewriter::Left;

#[test]
fn trampolines_are_left_out_and_the_functions_behind_them_are_named() {
    let rewritten = rewrite(
        r#"(component
          (import "demo:lib/log" (instance $log (export "line" (func (param "s" string)))))
          (core module $shim
            (table (export "$imports") 1 1 funcref)
            (func (export "0") (param i32 i32) (call_indirect (param i32 i32) (local.get 0) (local.get 1) (i32.const 0))))
          (core module $main
            (import "demo:lib/log" "line" (func $line (param i32 i32)))
            (memory (export "mem") 1)
            (func $run (export "run") (call $line (i32.const 0) (i32.const 1))))
          (core module $fixups
            (import "" "0" (func $f (param i32 i32)))
            (import "" "$imports" (table 1 1 funcref))
            (elem (i32.const 0) func $f))
          (core instance $shim (instantiate $shim))
          (alias core export $shim "0" (core func $indirect))
          (core instance $main (instantiate $main (with "demo:lib/log" (instance (export "line" (func $indirect))))))
          (core func $line (canon lower (func $log "line") (memory (core memory $main "mem"))))
          (core instance (instantiate $fixups (with "" (instance
            (export "0" (func $line)) (export "$imports" (table $shim "$imports"))))))
          (func (export "run") (canon lift (core func $main "run"))))"#,
    );
    assert_eq!(names_of(&rewritten), ["0 demo:lib/log#line", "1 main::run"]);
    assert_eq!(rewritten.modules[0].left, Some(Left::Trampolines));
    assert_eq!(rewritten.warnings, []);
}

/// The adapter has probes itself, so its work for the program is recorded once.
#[test]
fn what_a_trampoline_calls_in_another_module_is_no_call_of_the_host() {
    let text = |fixups: &str| {
        format!(
            r#"(component
          (core module $shim
            (table (export "$imports") 1 1 funcref)
            (func (export "0") (param i32) (call_indirect (param i32) (local.get 0) (i32.const 0))))
          (core module $main
            (import "wasi" "write" (func $write (param i32)))
            (func $run (export "run") (call $write (i32.const 1)))
            (func $more (export "more") (call $run)))
          (core module $adapter (func $write (export "write") (param i32)))
          (core module $fixups
            (import "" "0" (func $f (param i32)))
            (import "" "$imports" (table 1 1 funcref))
            {fixups})
          (core instance $shim (instantiate $shim))
          (alias core export $shim "0" (core func $indirect))
          (core instance $main (instantiate $main (with "wasi" (instance (export "write" (func $indirect))))))
          (core instance $adapter (instantiate $adapter))
          (core instance (instantiate $fixups (with "" (instance
            (export "0" (func $adapter "write")) (export "$imports" (table $shim "$imports"))))))
          (func (export "run") (canon lift (core func $main "run"))))"#
        )
    };
    let rewritten = rewrite(&text("(elem (i32.const 0) func $f)"));
    assert_eq!(names_of(&rewritten), ["0 main::run", "1 more", "2 adapter::write"]);
    // As wit-component has it: the table is taken from the shim itself.
    let apart = text("(elem (i32.const 0) func $f)")
        .replace(r#"(import "" "$imports""#, r#"(import "shim" "$imports""#)
        .replace(
            r#" (export "$imports" (table $shim "$imports"))))"#,
            r#")) (with "shim" (instance $shim))"#,
        );
    assert_eq!(names_of(&rewrite(&apart)), names_of(&rewritten));
    // Nobody knows what such a module does.
    let rewritten = rewrite(&text("(func $f2 (call $f (i32.const 0)))"));
    assert_eq!(names_of(&rewritten)[..2], ["0 wasi.write", "1 main::run"]);
}

#[test]
fn a_module_that_only_calls_through_tables_has_probes() {
    let rewritten = rewrite(
        r#"(component
          (core module $vm
            (table 1 1 funcref)
            (elem (i32.const 0) func $leaf)
            (func $leaf)
            (func $dispatch (export "run") (call_indirect (i32.const 0))))
          (core module $virtual
            (table (export "t") 1 1 funcref)
            (elem (i32.const 0) func $dispatch)
            (func $dispatch (export "run") (call_indirect (i32.const 0))))
          (core module $hidden
            (table 1 1 funcref)
            (func $dispatch (export "run") (call_indirect (i32.const 0))))
          (core instance (instantiate $vm)) (core instance (instantiate $virtual)) (core instance (instantiate $hidden)))"#,
    );
    assert_eq!(names_of(&rewritten), ["0 leaf", "1 dispatch", "2 virtual::dispatch", "3 hidden::dispatch"]);
}
