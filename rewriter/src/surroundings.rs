//! The component around a module, as the pass needs it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The component around a module.
pub(crate) struct Surroundings {
    /// The module's name in its symbol table.
    pub(crate) name: String,
    /// The prefix of its functions' names.
    pub(crate) prefix: String,
    /// The prefix of a name that is in `taken`, if `prefix` is empty.
    pub(crate) own_prefix: String,
    /// Names of calls from outside. A module's functions often have the same names.
    pub(crate) taken: Arc<HashSet<String>>,
    /// Its imports (module and name) from other modules that get probes. An empty name means all.
    pub(crate) linked: HashSet<(String, String)>,
    /// Names of host functions by import (module and name), if known.
    pub(crate) called: HashMap<(String, String), String>,
}

impl Surroundings {
    /// Whether an import comes from another module that gets probes.
    pub(crate) fn links(&self, module: &str, name: &str) -> bool {
        [name, ""].iter().any(|name| self.linked.contains(&(module.to_owned(), (*name).to_owned())))
    }
}
