//! A guest with every way out of a function, with the recorder of one's choice.

use kperf_rewriter::{Options, Recording, rewrite};
use wasmtime::{Engine, Module};

/// Recursion, leaves, tail calls, exceptions that pass through frames, traps, calls of the host that fail.
pub const GUEST: &str = r#"(module
    (import "host" "h" (func $h (param i32)))
    (memory (export "memory") 1)
    (tag $e)
    (func $leaf (param i32) (result i32) (i32.load (local.get 0)))
    (func $fib (export "fib") (param i32) (result i32)
      (if (result i32) (i32.lt_s (local.get 0) (i32.const 2))
        (then (call $leaf (i32.const 8)))
        (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                       (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
    (func $down (export "down") (param i32) (result i32)
      (if (i32.eqz (local.get 0)) (then (return (call $leaf (i32.const 0)))))
      (return_call $down (i32.sub (local.get 0) (i32.const 1))))
    (func $throws (param i32)
      (if (i32.eqz (local.get 0)) (then (throw $e)))
      (call $throws (i32.sub (local.get 0) (i32.const 1))))
    (func $throws_at_once (throw $e))
    (func $catches (export "catches") (param i32) (result i32)
      (block $caught (try_table (catch $e $caught) (call $throws (local.get 0))))
      (block $caught (try_table (catch $e $caught) (call $throws_at_once)))
      (call $h (i32.const 7))
      (call $leaf (i32.const 4)))
    (func $deep (param i32) (result i32)
      (if (result i32) (local.get 0)
        (then (call $deep (i32.sub (local.get 0) (i32.const 1))))
        (else (call $leaf (i32.const -1)))))
    (func (export "traps") (param i32) (result i32) (call $deep (local.get 0)))
    (func $host (export "host") (param i32) (result i32) (call $h (local.get 0)) (local.get 0))
    (func (export "around") (param i32) (result i32) (call $host (local.get 0)))
    (func $recurses (export "recurses") (param i32) (result i32)
      (if (result i32) (local.get 0)
        (then (i32.add (i32.const 1) (call $recurses (i32.sub (local.get 0) (i32.const 1)))))
        (else (call $h (i32.const 7)) (i32.const 0)))))"#;

/// Calls of it, in an order that has every outcome between others. `host` gives its parameter to the host.
pub const CALLS: [(&str, i32); 7] =
    [("fib", 18), ("traps", 3), ("catches", 5), ("host", 0), ("down", 5000), ("traps", 0), ("host", 1)];

/// An engine for it.
pub fn engine() -> Engine {
    super::engine_with(|config| {
        config.wasm_exceptions(true).wasm_gc(true).wasm_function_references(true).wasm_tail_call(true);
    })
}

/// A module with probes, whose ids begin with 100.
pub fn compile(engine: &Engine, text: &str, recording: Recording) -> Module {
    let options = Options { recording, validate: true, id_base: 100, ..Options::default() };
    let module = Module::new(engine, rewrite(&wat::parse_str(text).unwrap(), &options).unwrap().wasm);
    module.unwrap()
}

/// The symbol table of a module that [`compile`] has made.
pub fn table(text: &str, recording: Recording) -> Vec<u8> {
    let options = Options { recording, id_base: 100, ..Options::default() };
    rewrite(&wat::parse_str(text).unwrap(), &options).unwrap().symbols.to_bytes()
}
