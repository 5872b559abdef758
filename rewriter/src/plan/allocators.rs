//! Finds the allocator functions of a module, by name, by export or from the options.

mod role;

use crate::error::{Error, ErrorKind};
use crate::module::info::ModuleInfo;
use crate::names::demangle;
use crate::names::func_names::FuncNames;
use crate::options::AllocatorOptions;
use crate::recording::Allocations as Recorded;
use crate::warning::Warning;
use kperf_abi::FuncIndex;
use kperf_abi::symbols::{Allocations, Allocator};
use std::collections::BTreeMap;
use std::fmt;
use wasmparser::{FuncType, ValType};

pub(crate) use role::{New, Role, Size};
use role::{ROLES, role_of};

impl Role {
    /// Whether a function of this type can have this role.
    fn fits(&self, info: &ModuleInfo<'_>, signature: &FuncType) -> bool {
        let address = if is_wide(info) { ValType::I64 } else { ValType::I32 };
        let (least, most) = self.params;
        let params = signature.params();
        let wanted = params.len().clamp(least, most) == params.len();
        let is_address = |n: usize| params.get(n) == Some(&address);
        let sizes = match self.size {
            Size::None => true,
            Size::Param(n) => is_address(n),
            Size::Params(n, m) => is_address(n) && is_address(m),
        };
        let results = match self.new {
            New::None => signature.results().is_empty(),
            New::Result => signature.results() == [address],
            New::Stored(n) => is_address(n) && signature.results() == [ValType::I32],
        };
        let has_memory = info.memories > 0 || matches!(self.new, New::None | New::Result);
        wanted && has_memory && sizes && results && self.old.is_none_or(is_address)
    }
}

impl AllocatorOptions {
    /// Checks what doesn't depend on a module.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadAllocator`] if there is no such role.
    pub fn check(&self) -> Result<(), Error> {
        self.names.iter().try_for_each(|(role, wanted)| named(role, wanted).map(drop))
    }
}

/// The role with this name, for a function that the options name.
fn named(role_name: &str, wanted: &str) -> Result<&'static Role, Error> {
    let role = ROLES.into_iter().find(|role| role.name == role_name);
    role.ok_or_else(|| {
        let all: Vec<_> = ROLES.iter().map(|role| role.name).collect();
        let why = format!("`{role_name}` is not an allocator role; roles are {}", all.join(", "));
        ErrorKind::BadAllocator { name: wanted.to_owned(), why }.into()
    })
}

/// Whether the addresses of the module's first memory have 64 bits.
pub(crate) fn is_wide(info: &ModuleInfo<'_>) -> bool {
    info.wide_memories.contains(&0)
}

/// The allocator functions of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocators {
    by_index: BTreeMap<u32, &'static Role>,
    /// What the symbol table says about them.
    pub(crate) described: Allocations,
}

impl Allocators {
    /// Finds the allocator functions.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadAllocator`] if a function from the options doesn't exist or has the wrong type.
    pub(crate) fn find(
        info: &ModuleInfo<'_>,
        names: &FuncNames<'_>,
        options: &AllocatorOptions,
        sampling: Recorded,
        warnings: &mut Vec<Warning>,
    ) -> Result<Allocators, Error> {
        let imported = info.imported_funcs.len();
        let mut found = Allocators::default();
        for n in 0..info.bodies.len() {
            let index = FuncIndex((imported + n) as u32);
            let Some(signature) = info.func_type(index) else { continue };
            let name = names.get(info, index).name;
            let export = info.exported_funcs.get(&index.0).copied();
            let by_name = |name: &str| {
                let demangled = demangle::demangle(name);
                role_of(name, demangled.as_deref().unwrap_or(name)).filter(|role| role.fits(info, signature))
            };
            let role = by_name(&name).map(|role| (role, "name"));
            let role = role.or_else(|| Some((by_name(export?)?, "export")));
            if let Some((role, found_by)) = role.filter(|_| !info.is_shared(index)) {
                found.add(index, role, &name, found_by);
            }
        }
        for (role_name, wanted) in &options.names {
            let role = named(role_name, wanted)?;
            let why = match function_named(info, names, role, wanted) {
                Ok(index) => {
                    found.add(index, role, &names.get(info, index).name, "told");
                    continue;
                }
                Err(why) => why,
            };
            if !options.several {
                let (name, why) = (wanted.clone(), why.to_string());
                return Err(ErrorKind::BadAllocator { name, why }.into());
            }
            let option = format!("{role_name}={wanted}");
            if why != Unfit::Missing {
                warnings.push(Warning::NoAllocator { option: option.clone(), why: why.to_string() });
            }
            found.described.missing.push(option);
        }
        found.described.sample = match sampling {
            Recorded::Sampled(bytes) => bytes.get(),
            Recorded::Off | Recorded::All => 0,
        };
        found.described.shared_memory = info.memory_types.first().is_some_and(|memory| memory.shared);
        found.described.linked_memory = info.is_first_memory_linked;
        found.described.pages = info.memory_types.iter().map(|memory| memory.initial).collect();
        Ok(found)
    }

    fn add(&mut self, index: FuncIndex, role: &'static Role, name: &str, found_by: &str) {
        self.by_index.insert(index.0, role);
        self.described.allocators.retain(|allocator| allocator.func_index != index);
        self.described.allocators.push(Allocator {
            func_index: index,
            name: demangle::demangle(name).unwrap_or_else(|| name.to_owned()),
            role: role.name.to_owned(),
            found_by: found_by.to_owned(),
        });
    }

    /// The role of a function, if it has one.
    pub(crate) fn get(&self, index: FuncIndex) -> Option<&'static Role> {
        self.by_index.get(&index.0).copied()
    }
}

/// Why a name from the options is no allocator function of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfit {
    Missing,
    Several,
    Type(&'static str),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Missing => f.write_str("the module defines no function of this name"),
            Unfit::Several => f.write_str("the module has several functions of this name"),
            Unfit::Type(role) => write!(f, "its parameters and results are not those of a `{role}`"),
        }
    }
}

/// The function with a name from the options.
fn function_named(
    info: &ModuleInfo<'_>,
    names: &FuncNames<'_>,
    role: &'static Role,
    wanted: &str,
) -> Result<FuncIndex, Unfit> {
    let imported = info.imported_funcs.len();
    let mut with_name = (0..info.bodies.len()).map(|n| FuncIndex((imported + n) as u32)).filter(|&index| {
        let name = names.get(info, index).name;
        name == wanted
            || info.exported_funcs.get(&index.0) == Some(&wanted)
            || demangle::demangle(&name).is_some_and(|name| name == wanted)
    });
    let index = match (with_name.next(), with_name.next()) {
        (Some(index), None) => index,
        (None, _) => return Err(Unfit::Missing),
        _ => return Err(Unfit::Several),
    };
    let fits = info.func_type(index).is_some_and(|signature| role.fits(info, signature));
    if fits && !info.is_shared(index) { Ok(index) } else { Err(Unfit::Type(role.name)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::pass::rewrite;
    use crate::options::Options;
    use crate::recording::{Imported, Recording};

    #[test]
    fn in_one_of_several_modules_a_function_of_that_name_may_be_another() {
        let wasm = wat::parse_str(
            "(module (memory 1) (func $take (param i32) (result i32) (local.get 0)) (func $run) (func (export \"run\")))",
        );
        let wasm = wasm.expect("a module");
        let rewritten = |several, names: [&str; 2]| {
            let names = vec![names.map(str::to_owned).into()];
            let allocators = AllocatorOptions { names, several };
            let recording = Recording::Imported(Imported { allocations: true, ..Imported::default() });
            let done = rewrite(&wasm, &Options { recording, allocators, ..Options::default() });
            done.map(|done| {
                let warnings: Vec<_> = done.warnings.iter().map(Warning::to_string).collect();
                (done.symbols.symbols.len(), warnings)
            })
            .map_err(|error| error.to_string())
        };
        let why = "its parameters and results are not those of a `calloc`";
        let warning = format!("`calloc=take` is no allocator here: {why}");
        assert_eq!(rewritten(true, ["calloc", "take"]), Ok((3, vec![warning])));
        assert_eq!(rewritten(false, ["calloc", "take"]), Err(format!("the allocator `take`: {why}")));
        let why = "the module has several functions of this name";
        let warning = format!("`free=run` is no allocator here: {why}");
        assert_eq!(rewritten(true, ["free", "run"]), Ok((3, vec![warning])));
        assert_eq!(rewritten(true, ["malloc", "give"]), Ok((3, Vec::new())));
    }
}
