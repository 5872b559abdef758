//! Compares an original module with the rewritten one. The test beside this file and the fuzz target `behaviour` share it.

use super::side::Side;
use kperf_rewriter::{Leaf, Options, Recording, rewrite};
use wasmtime::{Engine, Module};

/// How much was compared.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) calls: u64,
    pub(crate) returned: u64,
    pub(crate) trapped: u64,
    pub(crate) events: u64,
    pub(crate) unwound: u64,
}

/// Calls all exports of a module and of the same with probes. Panics where they differ, or the events don't balance. Where
/// imports get probes, leaves are counted only, if the probes are inside.
pub(crate) fn compare(engine: &Engine, wasm: &[u8], recording: Recording, imports: bool) -> Tally {
    // What wasmtime doesn't know.
    let Ok(original) = Module::new(engine, wasm) else { return Tally::default() };
    let recording = match recording {
        Recording::Inline(_) if imports => Recording::inline_with(Leaf::Count),
        recording => recording,
    };
    let options = Options { recording, imports, validate: true, ..Options::default() };
    let rewritten = rewrite(wasm, &options).unwrap_or_else(|error| panic!("{error}"));
    let table = rewritten.symbols.to_bytes();
    let rewritten = Module::new(engine, rewritten.wasm).unwrap_or_else(|error| panic!("{error:?}"));
    run(Side::new(engine, &original, &[]), Side::new(engine, &rewritten, &table))
}

fn run(mut original: Side, mut rewritten: Side) -> Tally {
    let mut tally = Tally::default();
    if original.overflowed || rewritten.overflowed {
        return tally;
    }
    assert_eq!(original.instance.as_ref().err(), rewritten.instance.as_ref().err(), "instantiation");
    let Ok(instance) = original.instance else { return tally };
    let names: Vec<String> = instance
        .exports(&mut original.store)
        .filter(|export| export.clone().into_func().is_some())
        .map(|export| export.name().to_owned())
        .collect();
    for name in names {
        let (Some(expected), Some(actual)) = (original.call(&name), rewritten.call(&name)) else { continue };
        if original.overflowed || rewritten.overflowed {
            // Probed frames are larger, so the two overflow in different places, with different traces behind them.
            return tally;
        }
        assert_eq!(expected, actual, "{name}");
        assert_eq!(original.state(), rewritten.state(), "after {name}");
        assert_eq!(rewritten.depth(), 0, "depth after {name}");
        tally.calls += 1;
        tally.returned += u64::from(expected.is_ok());
        tally.trapped += u64::from(expected.is_err());
    }
    tally.unwound += rewritten.store.data().unwound;
    tally.events += rewritten.events();
    tally
}
