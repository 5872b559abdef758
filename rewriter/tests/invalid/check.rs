//! What must hold of any bytes: shared by the test beside this file and the fuzz target `any_bytes`.

use kperf_rewriter::{Options, rewrite};
use wasmparser::{Validator, WasmFeatures};

/// What became of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "the fuzz target doesn't count")]
pub(crate) enum Outcome {
    /// A valid module was rewritten into a valid one.
    Rewritten,
    /// A valid module was refused, by name.
    Refused,
    /// An invalid one was refused.
    InvalidRefused,
    /// An invalid one was rewritten, and is invalid still.
    InvalidRewritten,
}

/// Rewrites them. Panics where a module changes from valid to invalid or back, or is refused for no good reason.
pub(crate) fn check(bytes: &[u8], imports: bool) -> Outcome {
    let valid = validate(bytes);
    let options = Options { imports, ..Options::default() };
    match (rewrite(bytes, &options), valid) {
        (Ok(rewritten), Ok(())) => {
            let now = validate(&rewritten.wasm);
            assert!(now.is_ok(), "a valid module has become invalid: {now:?}");
            Outcome::Rewritten
        }
        (Ok(rewritten), Err(was)) => {
            // Without a probe the bytes are the same.
            let now = validate(&rewritten.wasm);
            assert!(now.is_err(), "an invalid module has become valid; it was: {was}");
            Outcome::InvalidRewritten
        }
        (Err(error), Ok(())) => {
            let error = error.to_string();
            let named = ["is not supported", "reserved name", "has probes already", "engines allow"];
            assert!(named.iter().any(|reason| error.contains(reason)), "a valid module is refused: {error}");
            Outcome::Refused
        }
        (Err(_), Err(_)) => Outcome::InvalidRefused,
    }
}

fn validate(bytes: &[u8]) -> Result<(), String> {
    let features = WasmFeatures::all();
    Validator::new_with_features(features).validate_all(bytes).map(drop).map_err(|error| error.to_string())
}
