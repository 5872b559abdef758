//! Demangles names of C++.
//!
//! The parser of `cpp_demangle` tries alternatives again at each level of a name, and has no limit but of depth: a name of 56 bytes takes
//! it seconds. So the limit of depth depends on the name:
//!
//! - A plain name, of names and types alone, may be as deep as real ones are. It makes the parser try nothing in vain.
//! - Any other name may be [`DEPTH`] deep and [`MAX_LENGTH`] long: the worst that a search found takes 830 steps of some 6 ns a byte.
//!
//! What needs more stays mangled. Of 400,944 names of a Linux system (LLVM's among them) 229 do.

use super::limit::{Limit, Limited};
use super::plain;
use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Levels of productions, as `cpp_demangle` counts them.
const PLAIN_DEPTH: u32 = 96;
const DEPTH: u32 = 48;
/// Lengths in bytes.
const MAX_PLAIN_LENGTH: usize = 1 << 13;
const MAX_LENGTH: usize = 600;
/// The largest names that compilers make are 63 times as long demangled (49,274 bytes).
pub(super) const OUTPUT: Limit = Limit { base: 512, each: 16 };

/// The demangled name: `Life::step(int)` for `_ZN4Life4stepEi`.
pub(super) fn demangle(name: &str) -> Option<String> {
    let is_plain = name.len() <= MAX_PLAIN_LENGTH && plain::is_plain(name.as_bytes().get(2..)?);
    if !is_plain && name.len() > MAX_LENGTH {
        return None;
    }
    let depth = if is_plain { PLAIN_DEPTH } else { DEPTH };
    let options = ParseOptions::default().recursion_limit(depth);
    let symbol = Symbol::new_with_options(name.as_bytes(), &options).ok()?;
    let mut out = Limited::new(OUTPUT.of(name));
    let options = DemangleOptions::default().recursion_limit(depth);
    symbol.structured_demangle(&mut out, &options).ok()?;
    Some(out.text)
}
