//! Makes modules with wasm-smith, of every shape that wasmtime runs.

/// A module of this shape, made from these bytes. It carries its own fuel, so that both sides end, and at the same place.
pub(crate) fn generate(shape: u64, bytes: &[u8]) -> Option<Vec<u8>> {
    let config = wasm_smith::Config {
        allow_floats: true,
        canonicalize_nans: true,
        exceptions_enabled: !shape.is_multiple_of(3),
        gc_enabled: shape % 3 == 1,
        reference_types_enabled: true,
        tail_call_enabled: true,
        memory64_enabled: shape.is_multiple_of(4),
        max_memories: 2,
        max_memory32_bytes: 1 << 20,
        max_memory64_bytes: 1 << 20,
        max_table_elements: 1_000,
        disallow_traps: shape.is_multiple_of(5),
        export_everything: true,
        // An atomic wait may wait forever.
        threads_enabled: false,
        shared_everything_threads_enabled: false,
        custom_page_sizes_enabled: shape.is_multiple_of(7),
        wide_arithmetic_enabled: true,
        min_funcs: 4,
        max_imports: 6,
        ..wasm_smith::Config::default()
    };
    let mut module = wasm_smith::Module::new(config, &mut arbitrary::Unstructured::new(bytes)).ok()?;
    module.ensure_termination(1_000).ok()?;
    Some(module.to_bytes())
}
