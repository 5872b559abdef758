//! Modules from wasm-smith, with exceptions, tail calls and references to functions. Some export much of this, some little.

/// Returns `None` if the random bytes make no module.
pub(crate) fn module(seed: u64) -> Option<Vec<u8>> {
    let mut noise = vec![0; 6_000];
    fastrand::Rng::with_seed(seed).fill(&mut noise);
    let config = wasm_smith::Config {
        allow_floats: false,
        exceptions_enabled: true,
        gc_enabled: seed % 3 == 1,
        reference_types_enabled: true,
        tail_call_enabled: !seed.is_multiple_of(5),
        max_memory32_bytes: 1 << 20,
        max_table_elements: 20,
        disallow_traps: seed.is_multiple_of(7),
        export_everything: seed.is_multiple_of(4),
        simd_enabled: false,
        relaxed_simd_enabled: false,
        threads_enabled: false,
        shared_everything_threads_enabled: false,
        memory64_enabled: false,
        custom_page_sizes_enabled: false,
        wide_arithmetic_enabled: false,
        min_funcs: 5,
        max_funcs: 14,
        min_exports: 2,
        min_imports: 2,
        max_imports: 6,
        min_tags: 1,
        ..wasm_smith::Config::default()
    };
    let mut module = wasm_smith::Module::new(config, &mut arbitrary::Unstructured::new(&noise)).ok()?;
    module.ensure_termination(400).ok()?;
    Some(module.to_bytes())
}
