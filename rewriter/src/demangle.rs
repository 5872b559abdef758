//! Names as the source has them. Kotlin's, Go's, Zig's, AssemblyScript's and C's stand in the module as they are.
//!
//! A mangled name can stand for one that is larger by any power: both schemes have references to what came before. And
//! the C++ parser tries alternatives again at each level. So steps and output are limited, each in proportion to the
//! name: what needs more stays mangled. Of 348,000 C++ names of a Linux system (LLVM's among them) 165 do, and none of
//! 95,000 Rust ones.

mod haskell;

use cpp_demangle_bounded::{DemangleOptions, ParseOptions, Symbol};
use std::fmt::{self, Write};

/// Longer names are no names. (The demanglers go as deep as a name is long in some places.)
const MAX_LENGTH: usize = 1 << 16;

/// Bytes of the demangled name: so many, and so many for each byte of the mangled one. The largest names of C++ are 63
/// times as long (49,274 bytes), of Rust 3.2 times.
const CPP_OUTPUT: Limit = Limit { base: 512, each: 16 };
const RUST_OUTPUT: Limit = Limit { base: 256, each: 8 };
/// Steps of the C++ parser, of which real names take up to 18 a byte, and of its printer, 46 at most.
const CPP_PARSE: Limit = Limit { base: 512, each: 32 };
const CPP_PRINT: Limit = Limit { base: 512, each: 64 };

struct Limit {
    base: usize,
    each: usize,
}

impl Limit {
    fn of(&self, name: &str) -> usize {
        self.base + self.each * name.len()
    }

    fn steps(&self, name: &str) -> u32 {
        u32::try_from(self.of(name)).unwrap_or(u32::MAX)
    }
}

/// The demangled name, if the name is mangled by a scheme that is known: Rust (both), C++ (Itanium) and Haskell
/// (GHC).
pub(crate) fn demangle(name: &str) -> Option<String> {
    if name.len() > MAX_LENGTH {
        return None;
    }
    if let Ok(demangled) = rustc_demangle::try_demangle(name) {
        let mut out = Limited::new(RUST_OUTPUT.of(name));
        // Without the hash at the end.
        write!(out, "{demangled:#}").ok()?;
        return Some(out.text);
    }
    if name.starts_with("_Z") {
        let options = ParseOptions::default().step_limit(CPP_PARSE.steps(name));
        let symbol = Symbol::new_with_options(name.as_bytes(), &options).ok()?;
        let mut out = Limited::new(CPP_OUTPUT.of(name));
        let options = DemangleOptions::default().step_limit(CPP_PRINT.steps(name));
        symbol.structured_demangle(&mut out, &options).ok()?;
        return Some(out.text);
    }
    haskell::demangle(name)
}

/// Text that fails to grow beyond a limit.
struct Limited {
    text: String,
    room: usize,
}

impl Limited {
    fn new(room: usize) -> Limited {
        Limited { text: String::new(), room }
    }
}

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.room = self.room.checked_sub(text.len()).ok_or(fmt::Error)?;
        self.text.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_schemes() {
        let cases = [
            ("_ZN4life4step17h0123456789abcdefE", Some("life::step")),
            ("_RNvCskwGfYPst2Cb_4life4step", Some("life::step")),
            ("_ZN4Life4stepEi", Some("Life::step(int)")),
            ("kotlin.collections.ArrayList.add", None),
            ("runtime.gcStart", None),
            ("_Zrubbish", None),
            // Languages without a small demangler.
            ("_D4life4stepFiZv", None),
            ("$s4main3fooyyF", None),
            ("ada__text_io__put_line__2", None),
            ("base_GHCziBase_map_info", Some("base_GHC.Base_map_info")),
            ("base_GHCziShow_zdwshowSignedInt_entry", Some("base_GHC.Show_$wshowSignedInt_entry")),
            ("ghczmprim_GHCziTuple_Z3T_con_info", Some("ghc-prim_GHC.Tuple_(,,)_con_info")),
            ("gzip_Zone_size_info", None),
        ];
        for (mangled, expected) in cases {
            assert_eq!(demangle(mangled).as_deref(), expected, "{mangled}");
        }
    }

    /// The published crate says of each name what ours says of it.
    #[test]
    fn real_names_are_within_the_limits() {
        let names = include_str!("../tests/names/cpp.txt");
        assert!(names.lines().count() > 200);
        for name in names.lines() {
            let expected = cpp_demangle::Symbol::new(name).unwrap().demangle().unwrap();
            assert_eq!(demangle(name), Some(expected), "{name}");
        }
    }

    /// How C++ names a type of so many levels, each of which has the one below so many times as a parameter.
    fn cpp_tree(levels: usize, width: usize) -> String {
        let seq = |n: usize| match n {
            0 => "S_".to_owned(),
            n => format!("S{}_", char::from_digit(n as u32 - 1, 36).unwrap().to_ascii_uppercase()),
        };
        let nested = (1..=levels).map(|level| format!("S_I{}E", seq(level).repeat(width)));
        format!("_Z1f1xI{}E{}", "i".repeat(width), nested.collect::<String>())
    }

    /// The same of Rust: a tuple of tuples.
    fn rust_tree(levels: usize) -> String {
        let mut name = "_RINvC1a1f".to_owned();
        let mut last = "u".to_owned();
        for _ in 0..levels {
            let at = name.len() - 2;
            name.push_str(&format!("T{last}{last}{last}E"));
            let digit =
                |n: usize| b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[n] as char;
            last = match at {
                0 => "B_".to_owned(),
                at if at <= 62 => format!("B{}_", digit(at - 1)),
                at => format!("B{}{}_", digit((at - 1) / 62), digit((at - 1) % 62)),
            };
        }
        name + "E"
    }

    /// None of these ended within minutes, or in memory.
    #[test]
    fn what_grows_beyond_all_bounds_stays_mangled() {
        // It is what it should be: a small one is demangled.
        assert_eq!(
            demangle(&cpp_tree(1, 2)).as_deref(),
            Some("f(x<int, int>, x<x<int, int>, x<int, int> >)")
        );
        assert_eq!(
            demangle(&rust_tree(2)).as_deref(),
            Some("a::f::<((), (), ()), (((), (), ()), ((), (), ()), ((), (), ()))>")
        );
        let names = [
            cpp_tree(4, 80),
            cpp_tree(7, 10),
            rust_tree(30),
            // The parser tries again at each level.
            format!("_ZclDT{}fL", "dlLA".repeat(30)),
            format!("_Z{}U{}", "StC1I".repeat(18), "J".repeat(18)),
            format!("_Zdl{}DT{}", "v".repeat(30), "qudl".repeat(30)),
            format!("_Zix{}", "Dtnw".repeat(40)),
        ];
        for name in names {
            assert_eq!(demangle(&name), None, "{name}");
        }
    }

    /// Neither deep nor long names take much of a stack; each ends.
    #[test]
    fn deep_and_long_names() {
        let units = [
            "IiE", "1a", "C1", "B1a", "P", "S_", "N", "Z", "T_", "X", "I", "i", "TT", "B_", "NvB_", "$LT$",
            ".",
        ];
        for prefix in ["_Z", "_ZN1a", "_Z1f", "_ZN", "_R", "_RNvC1a1f", "_RI", "_ZN4life", "A_BziC"] {
            for unit in units {
                for suffix in ["", "E", "C1Ev", "v", "u"] {
                    for count in [100, 10_000, 100_000] {
                        let name = format!("{prefix}{}{suffix}", unit.repeat(count));
                        let room = CPP_OUTPUT.of(&name);
                        assert!(demangle(&name).is_none_or(|demangled| demangled.len() <= room), "{name}");
                    }
                }
            }
        }
    }

    /// Names put together of pieces of the grammar: none panics, and all end soon.
    #[test]
    fn any_names() {
        let pieces = [
            "1a", "Z", "L", "N", "I", "J", "E", "X", "D", "T_", "S_", "i", "P", "F", "v", "_", "dl", "cl",
            "sr", "st", "Dp", "Dt", "DT", "cv", "fp", "on", "tl", "il", "U", "B1a", "St", "Sa", "M", "A",
            "nw", "G", "TC", "h0_", "K", "Ut", "Ul", "C1", "qu", "ix", "R", "NvC1a", "B_", "B1_", "p", "Y",
            "u", "B2", "S1a", "zi", "Z2T", "_info",
        ];
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let prefix = ["_Z", "_R", "a_AziB"][random.usize(..3)];
            let mut name = prefix.to_owned();
            for _ in 0..random.usize(1..4) {
                let unit: String =
                    (0..random.usize(1..4)).map(|_| pieces[random.usize(..pieces.len())]).collect();
                name.push_str(&unit.repeat(random.usize(1..30)));
            }
            let room = CPP_OUTPUT.of(&name);
            assert!(demangle(&name).is_none_or(|demangled| demangled.len() <= room), "{name}");
        }
    }
}
