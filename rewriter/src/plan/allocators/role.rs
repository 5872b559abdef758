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
    /// Bytes between the start of a block and the pointers that this function takes and returns.
    pub(crate) header: i32,
    /// Whether blocks are collected: no function frees them.
    pub(crate) collected: bool,
    /// Whether its calls by other allocator functions are recorded too: a collector frees while it allocates.
    pub(crate) always: bool,
    /// Whether the old block stays, unless it is also the new one.
    pub(crate) keeps_old: bool,
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
    /// As in Go: the size and the block are on Go's own stack.
    OnGoStack,
}

const fn role(name: &'static str, params: (usize, usize), old: Option<usize>, size: Size) -> Role {
    let new = if matches!(size, Size::None) { New::None } else { New::Result };
    Role { name, params, old, size, new, header: 0, collected: false, always: false, keeps_old: false }
}

const MALLOC: Role = role("malloc", (1, 1), None, Size::Param(0));
const CALLOC: Role = role("calloc", (2, 2), None, Size::Params(0, 1));
const REALLOC: Role = role("realloc", (2, 2), Some(0), Size::Param(1));
const REALLOCARRAY: Role = role("reallocarray", (3, 3), Some(0), Size::Params(1, 2));
/// emmalloc's `(pointer, alignment, size)`.
const ALIGNED_REALLOC: Role = role("aligned_realloc", (3, 3), Some(0), Size::Param(2));
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
/// mimalloc's: the alignment, an offset, or the address for the block's size may follow the size.
const MI_CALLOC: Role = role("calloc", (2, 4), None, Size::Params(0, 1));
const MI_REALLOC: Role = role("realloc", (2, 4), Some(0), Size::Param(1));
const MI_REALLOCN: Role = role("reallocarray", (3, 5), Some(0), Size::Params(1, 2));
/// mimalloc's with a heap as the first parameter.
const MI_HEAP_MALLOC: Role = role("heap_malloc", (2, 4), None, Size::Param(1));
const MI_HEAP_CALLOC: Role = role("heap_calloc", (3, 5), None, Size::Params(1, 2));
const MI_HEAP_REALLOC: Role = role("heap_realloc", (3, 5), Some(1), Size::Param(2));
const MI_HEAP_REALLOCN: Role = role("heap_reallocarray", (4, 6), Some(1), Size::Params(2, 3));
/// AssemblyScript's objects: a header precedes the pointer.
pub(super) const NEW: Role = Role { name: "new", header: 16, ..ALLOC };
const RENEW: Role = Role { name: "renew", header: 16, ..REALLOC };
/// AssemblyScript's `renew`, with the old object left to the collector.
const RENEW_LATER: Role = Role { keeps_old: true, ..RENEW };
/// It is also called while objects are made.
const COLLECTOR_FREE: Role = Role { always: true, ..FREE };
/// `(root, block)`: notes a free block. Blocks begin before the pointers that the allocator returns. It also gets the
/// rest of a free block.
const INSERT: Role = Role { header: -4, always: true, ..role("insert", (2, 2), Some(1), Size::None) };
const ALLOCATE_BLOCK: Role = Role { header: -4, ..role("block", (2, 2), None, Size::Param(1)) };
const MOVE_BLOCK: Role = Role { header: -4, ..role("move", (3, 3), Some(1), Size::Param(2)) };
/// The allocations of a program without a function that frees.
pub(super) const NEW_COLLECTED: Role = Role { collected: true, ..NEW };
pub(super) const RENEW_COLLECTED: Role = Role { collected: true, old: None, ..RENEW };
const TINYGO: Role = Role { name: "tinygo", collected: true, ..ALLOC };
const GO: Role = Role { new: New::OnGoStack, collected: true, ..role("go", (1, 1), None, Size::None) };

/// The roles for the options.
pub(super) const ROLES: [&Role; 10] = [
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
        "aligned_realloc" | "aligned_realloc_uninitialized" => &ALIGNED_REALLOC,
        "reallocarray" | "__reallocarray" => &REALLOCARRAY,
        "free" | "dlfree" | "_free" | "cfree" | "free_sized" | "free_aligned_sized" => &FREE,
        "aligned_alloc" | "memalign" | "dlmemalign" | "internal_memalign" => &ALIGNED_ALLOC,
        "_aligned_alloc" | "_memalign" | "__memalign" => &ALIGNED_ALLOC,
        "posix_memalign" | "dlposix_memalign" | "_posix_memalign" => &POSIX_MEMALIGN,
        "__wbindgen_malloc" => &ALLOC,
        "__wbindgen_realloc" => &REALLOC_BINDGEN,
        "__wbindgen_free" => &FREE,
        "cabi_realloc" => &REALLOC_RUST,
        "__new" => &NEW,
        "__renew" => &RENEW,
        "runtime.alloc" => &TINYGO,
        "runtime.mallocgc" => &GO,
        _ => {
            let role = cpp_role(name).or_else(|| mimalloc_role(name)).or_else(|| go_role(name));
            return role.or_else(|| rust_role(demangled)).or_else(|| assemblyscript_role(name));
        }
    })
}

/// mimalloc's names, which Emscripten's `malloc` may be an alias of. `strdup` and similar functions call these.
fn mimalloc_role(name: &str) -> Option<&'static Role> {
    let name = name.strip_prefix("mi_")?;
    // Since version 3, functions for a thread's heap have names of their own.
    if let Some(name) = name.strip_prefix("heap_").or_else(|| name.strip_prefix("theap_")) {
        return Some(match without_alignment(name) {
            "malloc" | "malloc_small" | "zalloc" | "zalloc_small" | "alloc_new" => &MI_HEAP_MALLOC,
            "calloc" | "mallocn" | "alloc_new_n" => &MI_HEAP_CALLOC,
            "realloc" | "rezalloc" | "reallocf" => &MI_HEAP_REALLOC,
            "reallocn" | "recalloc" => &MI_HEAP_REALLOCN,
            _ => return None,
        });
    }
    Some(match without_alignment(name) {
        "malloc" | "zalloc" | "malloc_small" | "zalloc_small" | "valloc" | "pvalloc" => &ALLOC,
        "umalloc" | "uzalloc" | "umalloc_small" | "uzalloc_small" => &ALLOC,
        "new" | "new_nothrow" | "new_aligned_nothrow" => &ALLOC,
        "calloc" | "mallocn" | "new_n" | "ucalloc" => &MI_CALLOC,
        // The one that frees the block on failure calls `mi_free`.
        "realloc" | "rezalloc" | "reallocf" | "expand" | "_expand" | "new_realloc" | "urealloc" => {
            &MI_REALLOC
        }
        "reallocn" | "reallocarray" | "recalloc" | "new_reallocn" => &MI_REALLOCN,
        "aligned_recalloc" | "aligned_offset_recalloc" => &MI_REALLOCN,
        "free" | "cfree" | "ufree" | "free_small" | "free_size" => &FREE,
        "memalign" | "aligned_alloc" => &ALIGNED_ALLOC,
        "posix_memalign" => &POSIX_MEMALIGN,
        _ => return None,
    })
}

/// `malloc` of `malloc_aligned` and `malloc_aligned_at`.
fn without_alignment(name: &str) -> &str {
    let aligned = name.strip_suffix("_at").filter(|aligned| aligned.ends_with("_aligned"));
    let aligned = aligned.unwrap_or(name);
    aligned.strip_suffix("_aligned").unwrap_or(aligned)
}

/// Go's functions for one size each, which compiled code calls directly: `runtime.mallocgcSmallNoScanSC2`.
fn go_role(name: &str) -> Option<&'static Role> {
    let rest = name.strip_prefix("runtime.mallocgc")?;
    let kinds = ["SmallScanNoHeaderSC", "SmallNoScanSC", "TinySize"];
    let number = kinds.into_iter().find_map(|kind| rest.strip_prefix(kind))?;
    (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())).then_some(&GO)
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

/// The same in the linker's demangled form (wasm-ld): `new[](unsigned long)`. Placement new, `new(unsigned long,
/// void*)`, doesn't allocate.
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

/// AssemblyScript's runtime functions, by the compiler's names. Which of them remain depends on optimization: the
/// function that frees may be inlined into the one that collects, so that only [`INSERT`] is left (see
/// [`Allocators`](super::Allocators)).
fn assemblyscript_role(name: &str) -> Option<&'static Role> {
    let (runtime, last) = name.strip_prefix("~lib/rt/")?.rsplit_once('/')?;
    Some(match (runtime, last) {
        (_, "__new") => &NEW,
        ("itcms", "__renew") => &RENEW_LATER,
        (_, "__renew") => &RENEW,
        (_, "__alloc") => &MALLOC,
        (_, "__realloc") => &REALLOC,
        (_, "__free") => &COLLECTOR_FREE,
        ("tlsf", "insertBlock") => &INSERT,
        ("tlsf", "allocateBlock") => &ALLOCATE_BLOCK,
        ("tlsf", "moveBlock") => &MOVE_BLOCK,
        _ => return None,
    })
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
            ("c.malloc.reallocarray", Some("reallocarray")),
            ("__reallocarray", Some("reallocarray")),
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
            ("emmalloc_aligned_realloc", Some("aligned_realloc")),
            ("mi_malloc", Some("alloc")),
            ("mi_calloc", Some("calloc")),
            ("mi_free", Some("free")),
            ("mi_heap_malloc", Some("heap_malloc")),
            ("mi_usable_size", None),
            ("runtime.alloc", Some("tinygo")),
            ("runtime.mallocgc", Some("go")),
            ("runtime.mallocgcTinySize8", Some("go")),
            ("runtime.mallocgcSmallScanNoHeaderSC12", Some("go")),
            ("runtime.mallocgcSmallNoscan", None),
            ("runtime.mallocgcSmallScanNoHeader", None),
            ("__rdl_alloc", Some("alloc")),
            ("__rg_realloc", Some("rust_realloc")),
            ("__rust_dealloc", Some("free")),
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
            ("~lib/rt/tlsf/insertBlock", Some("insert")),
            ("~lib/rt/itcms/insertBlock", None),
            ("app::free", None),
            ("my_malloc", None),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }

    /// The names of mimalloc.h, versions 1.6 to 3: number of parameters, the parameter with the old block, and the
    /// one with its size.
    #[test]
    fn mimallocs_functions_have_their_parameters() {
        use Size::{None as Free, Param, Params};
        for (name, params, old, size) in [
            ("malloc", 1, None, Param(0)),
            ("zalloc", 1, None, Param(0)),
            ("malloc_small", 1, None, Param(0)),
            ("zalloc_small", 1, None, Param(0)),
            ("valloc", 1, None, Param(0)),
            ("pvalloc", 1, None, Param(0)),
            ("malloc_aligned", 2, None, Param(0)),
            ("zalloc_aligned", 2, None, Param(0)),
            ("malloc_aligned_at", 3, None, Param(0)),
            ("zalloc_aligned_at", 3, None, Param(0)),
            ("umalloc", 2, None, Param(0)),
            ("uzalloc_aligned", 3, None, Param(0)),
            ("new", 1, None, Param(0)),
            ("new_nothrow", 1, None, Param(0)),
            ("new_aligned", 2, None, Param(0)),
            ("new_aligned_nothrow", 2, None, Param(0)),
            ("memalign", 2, None, Param(1)),
            ("aligned_alloc", 2, None, Param(1)),
            ("posix_memalign", 3, None, Param(2)),
            ("calloc", 2, None, Params(0, 1)),
            ("mallocn", 2, None, Params(0, 1)),
            ("new_n", 2, None, Params(0, 1)),
            ("ucalloc", 3, None, Params(0, 1)),
            ("calloc_aligned", 3, None, Params(0, 1)),
            ("calloc_aligned_at", 4, None, Params(0, 1)),
            ("realloc", 2, Some(0), Param(1)),
            ("reallocf", 2, Some(0), Param(1)),
            ("rezalloc", 2, Some(0), Param(1)),
            ("expand", 2, Some(0), Param(1)),
            ("_expand", 2, Some(0), Param(1)),
            ("new_realloc", 2, Some(0), Param(1)),
            ("realloc_aligned", 3, Some(0), Param(1)),
            ("rezalloc_aligned", 3, Some(0), Param(1)),
            ("realloc_aligned_at", 4, Some(0), Param(1)),
            ("rezalloc_aligned_at", 4, Some(0), Param(1)),
            ("urealloc", 4, Some(0), Param(1)),
            ("reallocn", 3, Some(0), Params(1, 2)),
            ("reallocarray", 3, Some(0), Params(1, 2)),
            ("recalloc", 3, Some(0), Params(1, 2)),
            ("new_reallocn", 3, Some(0), Params(1, 2)),
            ("recalloc_aligned", 4, Some(0), Params(1, 2)),
            ("recalloc_aligned_at", 5, Some(0), Params(1, 2)),
            ("aligned_recalloc", 4, Some(0), Params(1, 2)),
            ("aligned_offset_recalloc", 5, Some(0), Params(1, 2)),
            ("free", 1, Some(0), Free),
            ("cfree", 1, Some(0), Free),
            ("free_small", 1, Some(0), Free),
            ("ufree", 2, Some(0), Free),
            ("free_size", 2, Some(0), Free),
            ("free_aligned", 2, Some(0), Free),
            ("free_size_aligned", 3, Some(0), Free),
            ("heap_malloc", 2, None, Param(1)),
            ("heap_zalloc", 2, None, Param(1)),
            ("heap_malloc_small", 2, None, Param(1)),
            ("heap_zalloc_small", 2, None, Param(1)),
            ("heap_alloc_new", 2, None, Param(1)),
            ("theap_malloc", 2, None, Param(1)),
            ("heap_malloc_aligned", 3, None, Param(1)),
            ("heap_zalloc_aligned", 3, None, Param(1)),
            ("heap_malloc_aligned_at", 4, None, Param(1)),
            ("heap_zalloc_aligned_at", 4, None, Param(1)),
            ("heap_calloc", 3, None, Params(1, 2)),
            ("heap_mallocn", 3, None, Params(1, 2)),
            ("heap_alloc_new_n", 3, None, Params(1, 2)),
            ("heap_calloc_aligned", 4, None, Params(1, 2)),
            ("heap_calloc_aligned_at", 5, None, Params(1, 2)),
            ("heap_realloc", 3, Some(1), Param(2)),
            ("heap_reallocf", 3, Some(1), Param(2)),
            ("heap_rezalloc", 3, Some(1), Param(2)),
            ("heap_realloc_aligned", 4, Some(1), Param(2)),
            ("heap_rezalloc_aligned", 4, Some(1), Param(2)),
            ("heap_realloc_aligned_at", 5, Some(1), Param(2)),
            ("heap_rezalloc_aligned_at", 5, Some(1), Param(2)),
            ("heap_reallocn", 4, Some(1), Params(2, 3)),
            ("heap_recalloc", 4, Some(1), Params(2, 3)),
            ("heap_recalloc_aligned", 5, Some(1), Params(2, 3)),
            ("heap_recalloc_aligned_at", 6, Some(1), Params(2, 3)),
        ] {
            let name = format!("mi_{name}");
            let role = role_of(&name, &name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((role.old, role.size), (old, size), "{name}");
            let (least, most) = role.params;
            assert!(least <= params && params <= most, "{name}: {params} parameters");
        }
        for other in
            ["heap_new", "heap_delete", "heap_destroy", "usable_size", "good_size", "heap_new_aligned"]
        {
            assert_eq!(mimalloc_role(&format!("mi_{other}")), None, "{other}");
        }
    }
}
