//! The names by which functions of two traces are matched.

use kperf_abi::FuncId;
use kperf_profile::{Symbols, namespace};

/// How names are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Names {
    /// The names are the same.
    Exact,
    /// The last parts of the names are the same, except for case and underscores.
    Loose,
}

impl Names {
    /// The name by which a function is matched.
    pub fn name_of(self, symbols: &Symbols, func: FuncId) -> String {
        let name = symbols.name(func);
        match self {
            Names::Exact => name.into_owned(),
            Names::Loose => loose(&name),
        }
    }
}

/// `shouldbecomelive` for `life::should_become_live`, `main.shouldBecomeLive` and `shouldBecomeLive(int, int)`.
fn loose(name: &str) -> String {
    let namespace = namespace(name);
    let rest = match name.starts_with('<') {
        // `<Type as Trait>::method`
        true => name.rsplit("::").next().unwrap_or(name),
        false => name.get(name.find(namespace).unwrap_or(0) + namespace.len()..).unwrap_or(name),
    };
    let rest = rest.trim_start_matches([':', '.', '/']);
    // Parameters and template arguments don't belong to the name, unless there is nothing else.
    let end = rest.find(['(', '<']).filter(|&end| end > 0).unwrap_or(rest.len());
    let text: String =
        rest.get(..end).unwrap_or(rest).chars().filter(|&c| c != '_').flat_map(char::to_lowercase).collect();
    if text.is_empty() { name.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::loose;

    #[test]
    fn languages_meet() {
        for name in [
            "life::should_become_live",
            "main.shouldBecomeLive",
            "life/shouldBecomeLive",
            "shouldBecomeLive(int, bool)",
            "<life::Board as Rules>::should_become_live",
        ] {
            assert_eq!(loose(name), "shouldbecomelive", "{name}");
        }
        assert_eq!(["__", "[lost]", "func[3]"].map(loose), ["__", "[lost]", "func[3]"]);
    }
}
