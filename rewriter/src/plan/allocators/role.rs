//! The roles of allocator functions, and the names of each.

/// The role of an allocator function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    /// Its name in the options.
    pub(crate) name: &'static str,
    /// The least and greatest number of parameters.
    pub(super) params: (usize, usize),
    /// The parameter with the old block.
    pub(crate) old: Option<usize>,
    pub(crate) size: Size,
    pub(crate) new: New,
}

/// The size of the new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// None: the function only frees.
    None,
    Param(usize),
    /// The product of two parameters.
    Params(usize, usize),
}

/// The place of the new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum New {
    /// None: the function only frees.
    None,
    /// The result.
    Result,
    /// In memory at the address in this parameter, if the function returns 0.
    Stored(usize),
}

const fn role(name: &'static str, params: (usize, usize), old: Option<usize>, size: Size) -> Role {
    let new = if matches!(size, Size::None) { New::None } else { New::Result };
    Role { name, params, old, size, new }
}

const MALLOC: Role = role("malloc", (1, 1), None, Size::Param(0));
const CALLOC: Role = role("calloc", (2, 2), None, Size::Params(0, 1));
const REALLOC: Role = role("realloc", (2, 2), Some(0), Size::Param(1));
const REALLOCARRAY: Role = role("reallocarray", (3, 3), Some(0), Size::Params(1, 2));
const FREE: Role = role("free", (1, 3), Some(0), Size::None);
const ALIGNED_ALLOC: Role = role("aligned_alloc", (2, 2), None, Size::Param(1));
const POSIX_MEMALIGN: Role =
    Role { new: New::Stored(0), ..role("posix_memalign", (3, 3), None, Size::Param(2)) };
/// The size, then the alignment or another parameter.
const ALLOC: Role = role("alloc", (1, 3), None, Size::Param(0));
/// `(pointer, old size, alignment, new size)`, as in Rust and `cabi_realloc`.
const REALLOC_RUST: Role = role("rust_realloc", (4, 4), Some(0), Size::Param(3));
/// `(pointer, old size, new size, alignment)`.
const REALLOC_BINDGEN: Role = role("wbindgen_realloc", (3, 4), Some(0), Size::Param(2));
/// Methods of a Rust crate: the allocator itself is the first parameter.
const DL_MALLOC: Role = role("dlmalloc", (2, 2), None, Size::Param(1));
const DL_REALLOC: Role = role("dlrealloc", (3, 3), Some(1), Size::Param(2));
const DL_MEMALIGN: Role = role("dlmemalign", (3, 3), None, Size::Param(2));
const DL_FREE: Role = role("dlfree", (2, 2), Some(1), Size::None);

/// The roles for the options.
pub(super) const ROLES: [&Role; 9] = [
    &MALLOC,
    &CALLOC,
    &REALLOC,
    &REALLOCARRAY,
    &FREE,
    &ALIGNED_ALLOC,
    &POSIX_MEMALIGN,
    &ALLOC,
    &REALLOC_RUST,
];

/// The role of a function, by its name in the module and its name in the source.
pub(super) fn role_of(name: &str, demangled: &str) -> Option<&'static Role> {
    // Zig prefixes the module of its C library.
    let c = name.strip_prefix("c.malloc.").unwrap_or(name);
    let c = c.strip_prefix("emscripten_builtin_").or_else(|| c.strip_prefix("__libc_")).unwrap_or(c);
    let c = c.strip_prefix("emmalloc_").unwrap_or(c);
    Some(match c {
        "malloc" | "dlmalloc" | "_malloc" | "valloc" | "dlvalloc" | "pvalloc" | "dlpvalloc" => &MALLOC,
        // musl's own, `__libc_malloc_impl`.
        "malloc_impl" | "__simple_malloc" => &MALLOC,
        "calloc" | "dlcalloc" | "_calloc" => &CALLOC,
        // A function that finds no room in place leaves the block unchanged, as one that fails does.
        "realloc" | "dlrealloc" | "_realloc" | "dlrealloc_in_place" => &REALLOC,
        "realloc_try" | "realloc_uninitialized" => &REALLOC,
        "reallocarray" | "__reallocarray" => &REALLOCARRAY,
        "free" | "dlfree" | "_free" | "cfree" | "free_sized" | "free_aligned_sized" => &FREE,
        "aligned_alloc" | "memalign" | "dlmemalign" | "internal_memalign" => &ALIGNED_ALLOC,
        "_aligned_alloc" | "_memalign" | "__memalign" => &ALIGNED_ALLOC,
        "posix_memalign" | "dlposix_memalign" | "_posix_memalign" => &POSIX_MEMALIGN,
        "__wbindgen_malloc" => &ALLOC,
        "__wbindgen_realloc" => &REALLOC_BINDGEN,
        "__wbindgen_free" => &FREE,
        "cabi_realloc" => &REALLOC_RUST,
        _ => return cpp_role(demangled).or_else(|| rust_role(demangled)),
    })
}

/// `operator new[](unsigned long)` and `operator delete`, in all their forms. Placement new,
/// `operator new(unsigned long, void*)`, doesn't allocate.
fn cpp_role(demangled: &str) -> Option<&'static Role> {
    let (operator, parameters) = demangled.strip_prefix("operator ")?.strip_suffix(')')?.split_once('(')?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::demangle;

    #[test]
    fn names_tell_roles() {
        let role = |name: &str| {
            let demangled = demangle::demangle(name);
            role_of(name, demangled.as_deref().unwrap_or(name)).map(|role| role.name)
        };
        for (name, expected) in [
            ("malloc", Some("malloc")),
            ("c.malloc.calloc", Some("calloc")),
            ("reallocarray", Some("reallocarray")),
            ("__libc_malloc", Some("malloc")),
            ("__libc_malloc_impl", Some("malloc")),
            ("__libc_memalign", Some("aligned_alloc")),
            ("memalign", Some("aligned_alloc")),
            ("posix_memalign", Some("posix_memalign")),
            ("malloc_usable_size", None),
            ("strdup", None),
            ("emscripten_builtin_free", Some("free")),
            ("emscripten_builtin_memalign", Some("aligned_alloc")),
            ("emmalloc_realloc", Some("realloc")),
            ("__rdl_alloc", Some("alloc")),
            ("__rg_realloc", Some("rust_realloc")),
            ("__rust_dealloc", Some("free")),
            ("_Znwm", Some("alloc")),
            ("operator new(unsigned long)", Some("alloc")),
            ("operator new[](unsigned int, std::align_val_t, std::nothrow_t const&)", Some("alloc")),
            ("operator new(unsigned long, void*)", None),
            ("operator delete[](void*, unsigned long)", Some("free")),
            ("_ZdlPvmSt11align_val_t", Some("free")),
            ("_ZdlPvxyz", None),
            ("__rust_alloc_zeroed", Some("alloc")),
            ("_RNvCsdBezzDwma51_7___rustc12___rust_alloc", Some("alloc")),
            ("_RNvCsdBezzDwma51_7___rustc14___rust_dealloc", Some("free")),
            ("_RNvCsdBezzDwma51_7___rustc35___rust_no_alloc_shim_is_unstable_v2", None),
            ("_ZN8dlmalloc8dlmalloc17Dlmalloc$LT$A$GT$6malloc17h0123456789abcdefE", Some("dlmalloc")),
            ("mi_malloc", None),
            ("runtime.mallocgc", None),
            ("app::free", None),
            ("my_malloc", None),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
