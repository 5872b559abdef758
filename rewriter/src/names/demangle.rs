//! Demangles names of Rust and C++. Kotlin, Go, Zig, AssemblyScript and C don't mangle theirs.
//!
//! Back references make a demangled name exponentially larger than the mangled one. So the output is limited in proportion to the name;
//! a name that needs more stays mangled. Of 95,000 names of Rust none does.

mod cpp;
mod limit;
mod plain;

use limit::{Limit, Limited};
use std::fmt::Write;

/// Longer names are no names. (The demanglers go as deep as a name is long in some places.)
const MAX_LENGTH: usize = 1 << 16;

/// The largest names of Rust are 3.2 times as long demangled.
const RUST_OUTPUT: Limit = Limit { base: 256, each: 8 };

/// The demangled name, if the name is mangled by a scheme that is known: Rust (both) and C++ (Itanium).
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
    if name.starts_with("_Z") { cpp::demangle(name) } else { None }
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
            ("base_GHCziBase_map_info", None),
        ];
        for (mangled, expected) in cases {
            assert_eq!(demangle(mangled).as_deref(), expected, "{mangled}");
        }
    }

    /// With limits each real name is demangled as without them.
    #[test]
    fn real_names_are_within_the_limits() {
        let names = include_str!("../../tests/names/cpp.txt");
        assert!(names.lines().count() > 200);
        for name in names.lines() {
            let expected = cpp_demangle::Symbol::new(name).unwrap().demangle().unwrap();
            assert_eq!(demangle(name), Some(expected), "{name}");
        }
    }

    /// The mangled C++ name of a type with `levels` levels. Each has the next one as its parameter, `width`
    /// times.
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

    /// Without limits none of these ends within minutes, or in memory.
    #[test]
    fn names_that_grow_exponentially_stay_mangled() {
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
            // The worst that a search found: operators, and templates that never end.
            format!("_Z1a{}{}", "flixmcS_".repeat(20), "SsI".repeat(40)),
            // Packs of twice the one before, of which the first is empty.
            format!("_Z1fIJE{}EvT90_", (0..90).map(|n| format!("JT{n}_T{n}_E")).collect::<String>()),
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
        for prefix in ["_Z", "_ZN1a", "_Z1f", "_ZN", "_R", "_RNvC1a1f", "_RI", "_ZN4life"] {
            for unit in units {
                for suffix in ["", "E", "C1Ev", "v", "u"] {
                    for count in [100, 10_000, 100_000] {
                        let name = format!("{prefix}{}{suffix}", unit.repeat(count));
                        let room = cpp::OUTPUT.of(&name);
                        assert!(demangle(&name).is_none_or(|demangled| demangled.len() <= room), "{name}");
                    }
                }
            }
        }
    }

    /// A mangled name put together of pieces of the grammar, repeated; or a real one with pieces repeated and exchanged.
    fn made_up(random: &mut fastrand::Rng, real: &[&str]) -> String {
        const PIECES: [&str; 73] = [
            "1a", "Z", "L", "N", "I", "J", "E", "X", "D", "T_", "T0_", "S_", "S0_", "S1_", "i", "P", "F",
            "v", "_", "dl", "cl", "sr", "st", "Dp", "Dt", "DT", "cv", "fp", "fl", "on", "tl", "il", "U",
            "Ul", "Ut", "B1a", "St", "Sa", "SsI", "M", "mc", "A", "A_", "nw", "G", "GR", "TC", "h0_", "K",
            "C1", "qu", "ix", "sP", "sZ", "az", "R", "NvC1a", "B_", "B1_", "p", "Y", "u", "B2", "S1a", "LA",
            "1aI", "IE", "IJ", "DpT_", "JT_T_E", "FvE", "S_S_", "T_T_",
        ];
        if random.u8(..4) == 0 {
            let mut name = real[random.usize(..real.len())].as_bytes().to_vec();
            for _ in 0..random.usize(1..5) {
                let (from, to) = (random.usize(2..=name.len()), random.usize(2..=name.len()));
                let piece = name[from.min(to)..from.max(to)].repeat(random.usize(..8));
                let at = random.usize(2..=name.len());
                name.splice(at..at, piece);
            }
            return String::from_utf8_lossy(&name).into_owned();
        }
        let mut name = ["_Z", "_Z", "_Z1fI", "_ZN", "_R"][random.usize(..5)].to_owned();
        for _ in 0..random.usize(1..5) {
            let unit: String =
                (0..random.usize(1..5)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
            name.push_str(&unit.repeat(random.usize(1..40)));
        }
        name
    }

    /// None panics, and each takes less than 50 ms of the processor. (`KPERF_TESTS=all`: of a million.)
    #[test]
    fn any_name_is_demangled_soon() {
        let real: Vec<&str> = include_str!("../../tests/names/cpp.txt").lines().collect();
        let count =
            if std::env::var("KPERF_TESTS").is_ok_and(|tests| tests == "all") { 1_000_000 } else { 20_000 };
        let mut random = fastrand::Rng::with_seed(7);
        let mut demangled = 0;
        for _ in 0..count {
            let name = made_up(&mut random, &real);
            let began = cpu_time::ThreadTime::now();
            let result = demangle(&name);
            let took = began.elapsed();
            assert!(took < std::time::Duration::from_millis(50), "{took:?}: {name}");
            assert!(result.as_ref().is_none_or(|result| result.len() <= cpp::OUTPUT.of(&name)), "{name}");
            demangled += usize::from(result.is_some());
        }
        assert!(demangled * 100 > count, "{demangled} of {count}: names of the interesting kind");
    }
}
