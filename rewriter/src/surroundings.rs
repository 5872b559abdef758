//! What the pass knows of the component that a module is a part of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a module is a part of, if it doesn't stand alone.
pub(crate) struct Surroundings {
    /// What to call it in its symbol table.
    pub(crate) name: String,
    /// What stands in front of the names of its functions.
    pub(crate) prefix: String,
    /// What stands in front of a name that is one of `taken`, if nothing else does.
    pub(crate) own_prefix: String,
    /// The names of calls from outside: a module's functions often have the same.
    pub(crate) taken: Arc<HashSet<String>>,
    /// What it imports (module and name) from other modules that get probes. A name that is empty stands for all.
    pub(crate) linked: HashSet<(String, String)>,
    /// What to call the host's functions, by what it imports (module and name), where that is known.
    pub(crate) called: HashMap<(String, String), String>,
}

impl Surroundings {
    /// Whether an import comes from another module that gets probes.
    pub(crate) fn links(&self, module: &str, name: &str) -> bool {
        [name, ""].iter().any(|name| self.linked.contains(&(module.to_owned(), (*name).to_owned())))
    }
}
