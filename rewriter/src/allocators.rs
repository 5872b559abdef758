//! Which functions of a module are its allocators', by name, by export or as told, and what their parameters mean.

use crate::module::ModuleInfo;
use crate::names::FuncNames;
use crate::{Error, ErrorKind, demangle};
use kperf_abi::FuncIndex;
use kperf_abi::symbols::{Allocations, Allocator};
use std::collections::BTreeMap;
use wasmparser::{FuncType, ValType};

/// What is allocated is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocationOptions {
    /// Functions of allocators that have other names: for a role (`malloc`, `free`, ..) the name of the function.
    pub told: Vec<(String, String)>,
    /// Only samples are recorded, one in so many bytes on average; 0: all of it. Only for [`Probe::Inline`](crate::Probe::Inline).
    pub sample: u64,
}

/// What a function of an allocator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    /// What it is called where the user names functions.
    pub(crate) name: &'static str,
    /// How many parameters it has: at least, at most.
    params: (usize, usize),
    /// The parameter with the block that it is given.
    pub(crate) old: Option<usize>,
    pub(crate) size: Size,
    pub(crate) new: New,
    /// What stands between a block of the allocator's and the pointers that this function takes and gives.
    pub(crate) header: u32,
    /// Whether blocks are collected: no function frees them.
    pub(crate) collected: bool,
}

/// For how many bytes a function is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// It only frees.
    None,
    Param(usize),
    /// The product of two.
    Params(usize, usize),
}

/// Where the block is that a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum New {
    /// It only frees.
    None,
    /// It returns it.
    Result,
    /// In memory, where this parameter points to, if it returns 0.
    Stored(usize),
    /// As the functions of Go do: the size and the block are on Go's own stack.
    OnGoStack,
}

const fn role(name: &'static str, params: (usize, usize), old: Option<usize>, size: Size) -> Role {
    let new = if matches!(size, Size::None) { New::None } else { New::Result };
    Role { name, params, old, size, new, header: 0, collected: false }
}

const MALLOC: Role = role("malloc", (1, 1), None, Size::Param(0));
const CALLOC: Role = role("calloc", (2, 2), None, Size::Params(0, 1));
const REALLOC: Role = role("realloc", (2, 2), Some(0), Size::Param(1));
const REALLOCARRAY: Role = role("reallocarray", (3, 3), Some(0), Size::Params(1, 2));
const FREE: Role = role("free", (1, 3), Some(0), Size::None);
const ALIGNED_ALLOC: Role = role("aligned_alloc", (2, 2), None, Size::Param(1));
const POSIX_MEMALIGN: Role =
    Role { new: New::Stored(0), ..role("posix_memalign", (3, 3), None, Size::Param(2)) };
/// The size first, and the alignment or something else behind it.
const ALLOC: Role = role("alloc", (1, 3), None, Size::Param(0));
/// `(pointer, old size, alignment, new size)`, as Rust and `cabi_realloc` have it.
const REALLOC_RUST: Role = role("rust_realloc", (4, 4), Some(0), Size::Param(3));
/// `(pointer, old size, new size, alignment)`.
const REALLOC_BINDGEN: Role = role("wbindgen_realloc", (3, 4), Some(0), Size::Param(2));
/// Methods of a crate's: the allocator itself is the first parameter.
const DL_MALLOC: Role = role("dlmalloc", (2, 2), None, Size::Param(1));
const DL_REALLOC: Role = role("dlrealloc", (3, 3), Some(1), Size::Param(2));
const DL_MEMALIGN: Role = role("dlmemalign", (3, 3), None, Size::Param(2));
const DL_FREE: Role = role("dlfree", (2, 2), Some(1), Size::None);
/// AssemblyScript's objects: their header stands in front of the pointer.
const NEW: Role = Role { name: "new", header: 16, ..ALLOC };
const RENEW: Role = Role { name: "renew", header: 16, ..REALLOC };
/// The same where no function frees.
const NEW_COLLECTED: Role = Role { collected: true, ..NEW };
const RENEW_COLLECTED: Role = Role { collected: true, old: None, ..RENEW };
const TINYGO: Role = Role { name: "tinygo", collected: true, ..ALLOC };
const GO: Role = Role { new: New::OnGoStack, collected: true, ..role("go", (1, 1), None, Size::None) };

/// The roles that the user can name.
const ROLES: [&Role; 10] = [
    &MALLOC,
    &CALLOC,
    &REALLOC,
    &REALLOCARRAY,
    &FREE,
    &ALIGNED_ALLOC,
    &POSIX_MEMALIGN,
    &ALLOC,
    &REALLOC_RUST,
    &NEW,
];

/// The role of a function with this name, by the name in the module and the one in the source.
fn role_of(name: &str, demangled: &str) -> Option<&'static Role> {
    // Zig puts the module of its C library in front.
    let c = name.strip_prefix("c.malloc.").unwrap_or(name);
    let c = c.strip_prefix("emscripten_builtin_").or_else(|| c.strip_prefix("__libc_")).unwrap_or(c);
    let c = c.strip_prefix("emmalloc_").unwrap_or(c);
    Some(match c {
        "malloc" | "dlmalloc" | "_malloc" | "valloc" => &MALLOC,
        "calloc" | "dlcalloc" | "_calloc" => &CALLOC,
        "realloc" | "dlrealloc" | "_realloc" => &REALLOC,
        "reallocarray" => &REALLOCARRAY,
        "free" | "dlfree" | "_free" | "cfree" => &FREE,
        "aligned_alloc" | "memalign" | "dlmemalign" | "internal_memalign" => &ALIGNED_ALLOC,
        "posix_memalign" | "dlposix_memalign" => &POSIX_MEMALIGN,
        "__wbindgen_malloc" => &ALLOC,
        "__wbindgen_realloc" => &REALLOC_BINDGEN,
        "__wbindgen_free" => &FREE,
        "cabi_realloc" => &REALLOC_RUST,
        "__new" => &NEW,
        "__renew" => &RENEW,
        "runtime.alloc" => &TINYGO,
        "runtime.mallocgc" => &GO,
        _ => return cpp_role(name).or_else(|| rust_role(demangled)).or_else(|| assemblyscript_role(name)),
    })
}

/// `operator new` and `operator delete`, in all their forms.
fn cpp_role(name: &str) -> Option<&'static Role> {
    if let Some(operator) = name.strip_prefix("operator ") {
        return demangled_cpp_role(operator);
    }
    let is = |prefix: &str| {
        let rest = name.strip_prefix(prefix)?;
        [
            "",
            "m",
            "j",
            "St11align_val_t",
            "mSt11align_val_t",
            "jSt11align_val_t",
            "RKSt9nothrow_t",
            "St11align_val_tRKSt9nothrow_t",
        ]
        .contains(&rest)
        .then_some(())
    };
    if is("_Znwm").or(is("_Znam")).or(is("_Znwj")).or(is("_Znaj")).is_some() {
        Some(&ALLOC)
    } else if is("_ZdlPv").or(is("_ZdaPv")).is_some() {
        Some(&FREE)
    } else {
        None
    }
}

/// The same where the linker has demangled the names (wasm-ld does): `new[](unsigned long)`. What only constructs in memory that is
/// there, `new(unsigned long, void*)`, is none.
fn demangled_cpp_role(operator: &str) -> Option<&'static Role> {
    let (operator, parameters) = operator.strip_suffix(')')?.split_once('(')?;
    let mut parameters = parameters.split(", ");
    let first = parameters.next()?;
    let size = |parameter: &str| matches!(parameter, "unsigned long" | "unsigned int");
    let plain = |parameter: &str| {
        size(parameter) || matches!(parameter, "std::align_val_t" | "std::nothrow_t const&")
    };
    match operator {
        "new" | "new[]"
            if size(first) && parameters.all(|parameter| plain(parameter) && !size(parameter)) =>
        {
            Some(&ALLOC)
        }
        "delete" | "delete[]" if first == "void*" && parameters.all(plain) => Some(&FREE),
        _ => None,
    }
}

fn rust_role(demangled: &str) -> Option<&'static Role> {
    let (path, last) = demangled.rsplit_once("::").unwrap_or(("", demangled));
    if path.contains("dlmalloc::Dlmalloc") {
        return Some(match last {
            "malloc" => &DL_MALLOC,
            "realloc" => &DL_REALLOC,
            "memalign" => &DL_MEMALIGN,
            "free" => &DL_FREE,
            _ => return None,
        });
    }
    // `__rustc::__rust_alloc`, `__rustc[1234]::__rust_alloc`, and plain before 1.87.
    if !path.is_empty() && !path.starts_with("__rustc") {
        return None;
    }
    Some(
        match last.strip_prefix("__rust_").or(last.strip_prefix("__rdl_")).or(last.strip_prefix("__rg_"))? {
            "alloc" | "alloc_zeroed" => &ALLOC,
            "realloc" => &REALLOC_RUST,
            "dealloc" => &FREE,
            _ => return None,
        },
    )
}

fn assemblyscript_role(name: &str) -> Option<&'static Role> {
    let (_, last) = name.strip_prefix("~lib/rt/")?.rsplit_once('/')?;
    Some(match last {
        "__new" => &NEW,
        "__renew" => &RENEW,
        "__alloc" => &MALLOC,
        "__realloc" => &REALLOC,
        "__free" => &FREE,
        _ => return None,
    })
}

impl Role {
    /// Whether a function of this type can have this role. `wide`: addresses have 64 bits.
    fn fits(&self, info: &ModuleInfo<'_>, signature: &FuncType) -> bool {
        let wide = is_wide(info);
        let address = if wide { ValType::I64 } else { ValType::I32 };
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
            New::OnGoStack => {
                let has_stack = info.first_global == Some(ValType::I32) && !wide;
                has_stack && params == [ValType::I32] && signature.results() == [ValType::I32]
            }
        };
        let has_memory = info.memories > 0 || matches!(self.new, New::None | New::Result);
        wanted && has_memory && sizes && results && self.old.is_none_or(is_address)
    }
}

/// Whether the addresses of the module's first memory have 64 bits.
pub(crate) fn is_wide(info: &ModuleInfo<'_>) -> bool {
    info.wide_memories.contains(&0)
}

/// The allocator of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocators {
    by_index: BTreeMap<u32, &'static Role>,
    /// What the symbol table says.
    pub(crate) told: Allocations,
}

impl Allocators {
    /// Finds them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadAllocator`] if one that was told isn't there, or doesn't fit.
    pub(crate) fn find(
        info: &ModuleInfo<'_>,
        names: &FuncNames<'_>,
        options: &AllocationOptions,
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
        for (role, wanted) in &options.told {
            found.tell(info, names, role, wanted)?;
        }
        if !found.by_index.values().any(|role| role.new == New::None) {
            for role in found.by_index.values_mut() {
                *role = match role.name {
                    "new" => &NEW_COLLECTED,
                    "renew" => &RENEW_COLLECTED,
                    _ => continue,
                };
            }
        }
        found.told.sample = options.sample;
        found.told.shared_memory = info.memory_types.first().is_some_and(|memory| memory.shared);
        found.told.pages = info.memory_types.iter().map(|memory| memory.initial).collect();
        Ok(found)
    }

    fn add(&mut self, index: FuncIndex, role: &'static Role, name: &str, found_by: &str) {
        self.by_index.insert(index.0, role);
        self.told.allocators.retain(|allocator| allocator.func_index != index);
        self.told.allocators.push(Allocator {
            func_index: index,
            name: demangle::demangle(name).unwrap_or_else(|| name.to_owned()),
            role: role.name.to_owned(),
            found_by: found_by.to_owned(),
        });
    }

    fn tell(
        &mut self,
        info: &ModuleInfo<'_>,
        names: &FuncNames<'_>,
        role_name: &str,
        wanted: &str,
    ) -> Result<(), Error> {
        let bad = |why: String| -> Error { ErrorKind::BadAllocator { name: wanted.to_owned(), why }.into() };
        let Some(role) = ROLES.into_iter().find(|role| role.name == role_name) else {
            let all: Vec<_> = ROLES.iter().map(|role| role.name).collect();
            return Err(bad(format!("`{role_name}` is no kind of allocator; there are {}", all.join(", "))));
        };
        let imported = info.imported_funcs.len();
        let mut with_name =
            (0..info.bodies.len()).map(|n| FuncIndex((imported + n) as u32)).filter(|&index| {
                let name = names.get(info, index).name;
                name == wanted
                    || info.exported_funcs.get(&index.0) == Some(&wanted)
                    || demangle::demangle(&name).is_some_and(|name| name == wanted)
            });
        let index = match (with_name.next(), with_name.next()) {
            (Some(index), None) => index,
            (None, _) => return Err(bad("the module defines no function of this name".to_owned())),
            _ => return Err(bad("the module has several functions of this name".to_owned())),
        };
        if !info.func_type(index).is_some_and(|signature| role.fits(info, signature)) || info.is_shared(index)
        {
            return Err(bad(format!("its parameters and results are not those of a `{role_name}`")));
        }
        self.add(index, role, &names.get(info, index).name, "told");
        Ok(())
    }

    /// What a function does, if it is one of them.
    pub(crate) fn get(&self, index: FuncIndex) -> Option<&'static Role> {
        self.by_index.get(&index.0).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_roles() {
        let role = |name: &str| {
            let demangled = demangle::demangle(name);
            role_of(name, demangled.as_deref().unwrap_or(name)).map(|role| role.name)
        };
        for (name, expected) in [
            ("malloc", Some("malloc")),
            ("c.malloc.calloc", Some("calloc")),
            ("emscripten_builtin_free", Some("free")),
            ("_Znwm", Some("alloc")),
            ("operator new(unsigned long)", Some("alloc")),
            ("operator new[](unsigned int, std::align_val_t, std::nothrow_t const&)", Some("alloc")),
            ("operator new(unsigned long, void*)", None),
            ("operator delete[](void*, unsigned long)", Some("free")),
            ("operator delete(void*, void*)", None),
            ("_ZdlPvmSt11align_val_t", Some("free")),
            ("_ZdlPvxyz", None),
            ("__rust_alloc_zeroed", Some("alloc")),
            ("_RNvCsdBezzDwma51_7___rustc12___rust_alloc", Some("alloc")),
            ("_RNvCsdBezzDwma51_7___rustc14___rust_dealloc", Some("free")),
            ("_RNvCsdBezzDwma51_7___rustc35___rust_no_alloc_shim_is_unstable_v2", None),
            ("_ZN8dlmalloc8dlmalloc17Dlmalloc$LT$A$GT$6malloc17h0123456789abcdefE", Some("dlmalloc")),
            ("~lib/rt/itcms/__new", Some("new")),
            ("~lib/rt/tlsf/__free", Some("free")),
            ("app::free", None),
            ("my_malloc", None),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
