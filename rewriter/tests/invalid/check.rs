//! Checks that hold for any bytes, for the test in this folder and the fuzz target `any_bytes`.

use kperf_rewriter::{Leaf, Options, Recording, rewrite};
use wasmparser::{Validator, WasmFeatures};

/// The outcome for some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "the fuzz target doesn't count")]
pub(crate) enum Outcome {
    /// A valid module was rewritten into a valid one.
    Rewritten,
    /// A valid module was refused, by name.
    Refused,
    /// An invalid module was refused.
    InvalidRefused,
    /// An invalid module was rewritten, and is still invalid.
    InvalidRewritten,
}

/// Number of forms for [`check`].
pub(crate) const FORMS: usize = 14;

/// Each recording, with and without probes around imports where that makes a difference.
fn form(n: usize) -> Options {
    let (recording, imports) = match n % FORMS {
        0 => (Recording::imported(), false),
        1 => (Recording::imported(), true),
        2 => (Recording::inline(), false),
        3 => (Recording::inline(), true),
        4 => (Recording::inline_with(Leaf::Count), false),
        5 => (Recording::Profile { spans: false }, false),
        6 => (Recording::Profile { spans: true }, true),
        7 => (Recording::Count, false),
        8 => (Recording::OwnCount, false),
        9 => (Recording::Sample, false),
        10 => (Recording::OwnProfile, true),
        11 => (Recording::CallTree, false),
        12 => (Recording::CallTree, true),
        _ => (Recording::Count, true),
    };
    Options { recording, imports, ..Options::default() }
}

/// Rewrites bytes with the n-th form. Panics if a module changes from valid to invalid or back, or if a valid one is
/// refused for no good reason.
pub(crate) fn check(bytes: &[u8], n: usize) -> Outcome {
    let valid = validate(bytes);
    let options = form(n);
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
            let named = [
                "is not supported",
                "is reserved for probes",
                "already has probes",
                "engines allow",
                "linked at run time",
                "must have one memory of its own",
            ];
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
