//! Names the calls of a component from outside, and chooses which are recorded.

use super::scan::Scan;
use super::wit::{Definitions, Names};
use crate::options::Options;

/// The longest name from a core module, in bytes.
const LONGEST: usize = 200;

/// A function that a component lifts.
#[derive(Debug)]
pub(super) struct Export {
    pub(super) name: Box<str>,
    /// Whether no export names it, so that the name is generated.
    pub(super) unnamed: bool,
    /// Whether its calls are recorded.
    pub(super) is_told: bool,
    /// The name of the continuation of a waiting call (WASI 0.3), and whether that is recorded.
    pub(super) callback: Option<(Box<str>, bool)>,
}

impl Export {
    /// Its names, for filters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        std::iter::once(&*self.name).chain(self.callback.iter().map(|(name, _)| &**name))
    }

    /// Whether any of its calls are recorded.
    pub(super) fn is_recorded(&self) -> bool {
        self.is_told || self.callback.as_ref().is_some_and(|(_, is_told)| *is_told)
    }
}

/// The functions that each component lifts, by number of the component, in order. `paths`: the prefix of each
/// component's names.
pub(super) fn find(scan: &Scan<'_>, paths: &[String], options: &Options) -> Vec<Vec<Export>> {
    let all = definitions(scan);
    let components = scan.components.iter().zip(paths).enumerate();
    components
        .map(|(n, (component, path))| {
            let names = Names::of(&all, n).lifts();
            let lifts = component.lifts.iter().zip(names).enumerate();
            lifts
                .map(|(lift, (function, name))| {
                    let unnamed = name.is_none();
                    let of_core = || component.places.get(&function.core).map(|(_, name)| (*name).to_owned());
                    let of_core = || of_core().filter(|name| !name.is_empty() && name.len() <= LONGEST);
                    let name = name.or_else(of_core).unwrap_or_else(|| format!("lift[{lift}]"));
                    let is_told = |name: &str| options.filter.matches(name);
                    let callback = function.callback.map(|_| {
                        let name = format!("{path}[callback]{name}");
                        let is_told = is_told(&name);
                        (name.into(), is_told)
                    });
                    let name = format!("{path}{name}");
                    let is_told = is_told(&name);
                    Export { name: name.into(), unnamed, is_told, callback }
                })
                .collect()
        })
        .collect()
}

/// The definitions of each component, by its number.
pub(super) fn definitions<'s, 'a>(scan: &'s Scan<'a>) -> Vec<&'s Definitions<'a>> {
    scan.components.iter().map(|component| &component.definitions).collect()
}
