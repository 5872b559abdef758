//! What is known about the host of a module.

use crate::filter::Pattern;

/// What is known about the host of a module. The default assumes nothing.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Import modules whose functions never call back into the guest, or never catch its failures. Calls of them need
    /// no `unwind`.
    pub harmless: Vec<Pattern>,
    /// The host passes functions to the module only as imports: never through an exported table or global, never as a
    /// value or inside an object.
    pub closed: bool,
}

impl Host {
    /// A host that never calls back into the guest, such as WASI.
    pub fn harmless() -> Host {
        Host { harmless: Pattern::glob("*").into_iter().collect(), closed: true }
    }

    pub(crate) fn is_harmless(&self, module: &str) -> bool {
        module.starts_with("wasm:") || self.harmless.iter().any(|pattern| pattern.matches(module))
    }
}
