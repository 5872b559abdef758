//! The name of each function: from a symbol map, the name section, exports, imports; `func[12]` where there is none.

use crate::module::info::ModuleInfo;
use crate::names::section::read_name_section;
use crate::surroundings::Surroundings;
use crate::warning::Warning;
use kperf_abi::FuncIndex;
use std::collections::HashMap;

/// The names of a module's functions.
pub(crate) struct FuncNames<'a> {
    by_index: HashMap<u32, &'a str>,
    surroundings: Option<&'a Surroundings>,
}

/// A function's name and whether it was made up.
pub(crate) struct FuncName {
    pub(crate) name: String,
    pub(crate) unnamed: bool,
}

impl<'a> FuncNames<'a> {
    /// Collects the names; `add` adds those of a file. A broken name section costs its names and a warning.
    pub(crate) fn collect(
        info: &ModuleInfo<'a>,
        surroundings: Option<&'a Surroundings>,
        warnings: &mut Vec<Warning>,
        add: impl FnOnce(&mut HashMap<u32, &'a str>),
    ) -> FuncNames<'a> {
        let mut by_index = info.exported_funcs.clone();
        if let Some((data, offset)) = info.custom_section("name")
            && let Err(error) = read_name_section(data, offset, &mut by_index)
        {
            warnings.push(Warning::BadNameSection { message: error.to_string() });
        }
        add(&mut by_index);
        FuncNames { by_index, surroundings }
    }

    /// The name of a function. Host functions are called by what the module imports; in a component by their interface:
    /// `wasi:io/streams@0.2.0#[method]input-stream.read`.
    pub(crate) fn get(&self, info: &ModuleInfo<'_>, index: FuncIndex) -> FuncName {
        if let Some(import) = info.imported_funcs.get(index.0 as usize) {
            let called = self.surroundings.and_then(|surroundings| {
                surroundings.called.get(&(import.module.to_owned(), import.name.to_owned()))
            });
            if let Some(name) = called {
                return FuncName { name: name.clone(), unnamed: false };
            }
            let between = if self.surroundings.is_some() && import.module.contains(':') { '#' } else { '.' };
            return FuncName { name: format!("{}{between}{}", import.module, import.name), unnamed: false };
        }
        // One that is empty can't be seen.
        let name = self.by_index.get(&index.0).filter(|name| !name.is_empty());
        FuncName {
            name: name.map_or_else(|| format!("func[{}]", index.0), |name| (*name).to_owned()),
            unnamed: name.is_none(),
        }
    }

    /// The prefix of the name of a function that the module defines: a module's of a component.
    pub(crate) fn prefix(&self, name: &str) -> &str {
        let Some(surroundings) = self.surroundings else { return "" };
        if surroundings.prefix.is_empty() && surroundings.taken.contains(name) {
            return &surroundings.own_prefix;
        }
        &surroundings.prefix
    }
}
