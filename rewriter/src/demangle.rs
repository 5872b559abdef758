//! Names as the source has them. Kotlin's, Go's, AssemblyScript's and C's stand in the module as they are.

/// The demangled name, if the name is mangled by a scheme that is known: Rust (both), C++ (Itanium).
pub(crate) fn demangle(name: &str) -> Option<String> {
    if let Ok(demangled) = rustc_demangle::try_demangle(name) {
        // Without the hash at the end.
        return Some(format!("{demangled:#}"));
    }
    if name.starts_with("_Z") {
        let symbol = cpp_demangle::Symbol::new(name).ok()?;
        return symbol.demangle().ok();
    }
    None
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
        ];
        for (mangled, expected) in cases {
            assert_eq!(demangle(mangled).as_deref(), expected, "{mangled}");
        }
    }
}
