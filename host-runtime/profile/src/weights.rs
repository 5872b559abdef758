//! By which weights a trace's instructions are counted.

use crate::symbols::{Symbols, printable};
use kperf_abi::symbols::ModuleIdentity;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// By which weights instructions are counted. Only counts by the same ones can be compared or added up.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    /// Tells them from others; empty for the usual ones.
    pub digest: String,
    /// What they are called, for people.
    pub name: String,
}

impl PartialEq for Weights {
    fn eq(&self, other: &Weights) -> bool {
        self.digest == other.digest
    }
}

impl Weights {
    /// The weights of all of a trace's modules. Modules may have different ones; then these are told by all of them together.
    pub fn of(symbols: &Symbols) -> Weights {
        let tables = symbols.tables();
        let modules: Vec<_> =
            tables.iter().map(|table| &table.module).filter(|module| counts(module)).collect();
        let by_digest: BTreeMap<&str, &ModuleIdentity> =
            modules.iter().map(|module| (module.weights.as_str(), *module)).collect();
        let digest = match by_digest.len() {
            0 => String::new(),
            1 => by_digest.keys().copied().collect(),
            _ => mixed(&modules),
        };
        let names: Vec<String> = by_digest.into_values().map(name_of).collect();
        let name = if names.is_empty() { USUAL.to_owned() } else { names.join(" and ") };
        Weights { digest, name }
    }
}

/// Whether a module may count instructions: one without code counts nothing.
pub(crate) fn counts(module: &ModuleIdentity) -> bool {
    module.functions > 0 || !module.weights.is_empty()
}

const USUAL: &str = "the usual ones";

/// What tells the weights of modules that have different ones: which module has which.
fn mixed(modules: &[&ModuleIdentity]) -> String {
    let mut pairs: Vec<_> = modules.iter().map(|module| (&module.name, &module.weights)).collect();
    pairs.sort();
    pairs.dedup();
    let mut hash = Sha256::new();
    for (name, weights) in pairs {
        hash.update(format!("{} {name} {weights}\n", name.len()));
    }
    let bytes = hash.finalize();
    let hex: String = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("mixed {hex}")
}

fn name_of(module: &ModuleIdentity) -> String {
    // A table that changes nothing has a name, but no digest.
    if module.weights.is_empty() {
        return USUAL.to_owned();
    }
    let digest = printable(&module.weights);
    let mut words = module.options.split_whitespace();
    let named = words.by_ref().find_map(|word| match word {
        "--weights" => Some(None),
        // As a program in node is told.
        word => word.strip_prefix("KPERF_WEIGHTS=").map(Some),
    });
    let name = named.and_then(|name| name.or_else(|| words.next())).unwrap_or_default().trim_matches('\'');
    if name.is_empty() { format!("`{digest}`") } else { format!("`{}` ({digest})", printable(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::{FuncId, Symbol, SymbolTable};

    fn weights(modules: &[(&str, &str, u32)]) -> Weights {
        Weights::of(&symbols(modules))
    }

    fn symbols(modules: &[(&str, &str, u32)]) -> Symbols {
        let mut symbols = Symbols::default();
        for &(name, weights, functions) in modules {
            let options = "--clock instructions --weights 'w.txt'".to_owned();
            let (name, weights) = (name.to_owned(), weights.to_owned());
            let module = ModuleIdentity {
                name: name.clone(),
                weights,
                functions,
                options,
                ..ModuleIdentity::default()
            };
            let id_base = symbols.tables().len() as u32;
            let symbol = Symbol { id: FuncId(id_base), name: name.as_str().into(), ..Symbol::default() };
            symbols.add(SymbolTable { module, id_base, symbols: vec![symbol], ..SymbolTable::default() });
        }
        symbols
    }

    #[test]
    fn weights_are_those_of_all_modules() {
        let usual = weights(&[("a", "", 1)]);
        assert_eq!((usual.digest.as_str(), usual.name.as_str()), ("", "the usual ones"));
        let other = weights(&[("a", "12ab", 1), ("nothing", "", 0)]);
        assert_eq!((other.digest.as_str(), other.name.as_str()), ("12ab", "`w.txt` (12ab)"));
        let mixed = weights(&[("a", "", 1), ("b", "12ab", 1)]);
        assert_eq!(mixed.name, "the usual ones and `w.txt` (12ab)");
        assert_eq!(mixed, weights(&[("b", "12ab", 1), ("a", "", 1)]));
        // The same two the other way round are others.
        assert_ne!(mixed, weights(&[("a", "12ab", 1), ("b", "", 1)]));
        assert_ne!(mixed, other);
        assert_ne!(usual, other);
    }

    #[test]
    fn different_weights_in_one_trace_are_told() {
        let told = |modules: &[(&str, &str, u32)]| -> Vec<String> {
            symbols(modules).problems().iter().map(ToString::to_string).collect()
        };
        assert_eq!(told(&[("a", "12ab", 1), ("nothing", "", 0), ("b", "12ab", 1)]), [""; 0]);
        assert_eq!(
            told(&[("a", "", 1), ("b", "12ab", 1), ("c", "34cd", 1)]),
            ["the modules `a` and `b` count instructions by different weights: sums of both mean nothing"]
        );
    }
}
