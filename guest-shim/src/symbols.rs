//! The symbol table: the function of each [`FuncId`].
//!
//! The rewriter writes it to the custom section [`SYMBOLS_SECTION`](crate::names::SYMBOLS_SECTION), a trace
//! has the same bytes, and reports read them.
//!
//! ```text
//! u8       version: 1, or 2 if a function is counted only
//! u32      unpacked length of the rest in bytes; then the rest as one LZ4 block:
//! bytes    JSON of ModuleIdentity, after its length
//! leb128   id_base, number of symbols; then for each, in the order of their ids:
//!   leb128   func_index
//!   leb128   code_offset
//!   u8       flags: 1 exported, 2 imported, 4 a demangled name follows, 8 the name is made up, 16 a place follows,
//!            32 its calls are counted only
//!   bytes    name, after its length
//!   bytes    demangled name, after its length (flag 4)
//!   leb128   number of the source file, line (flag 16)
//! leb128   number of source files; then the path of each, after its length. Optional if nothing follows
//! code     of each function, see [`crate::code`]. May be left out
//! inlined  functions that are inlined in others, see [`inlined`]. May be left out
//! bytes    additions of later versions; readers skip them
//! ```

mod bytes;
mod encoding;
mod files;
mod inlined;
mod lz4;

use crate::code::{Codes, FunctionCode, InlinedFunction};
use crate::function::{FuncId, FuncIndex, Source};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How many symbols a table has at most. Engines take no module with more than a million functions.
pub const MAX_SYMBOLS: usize = 1 << 20;
/// How many bytes a table has at most, unpacked.
pub const MAX_BYTES: usize = 128 << 20;

/// One probed function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its number in the trace.
    pub id: FuncId,
    /// Its index in the original module.
    pub func_index: FuncIndex,
    /// The name as the module has it; `func[12]` where it has none. Not unique.
    #[serde(with = "shared")]
    pub name: Arc<str>,
    /// The name as the source has it; `None` if it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "shared_or_none")]
    pub demangled: Option<Arc<str>>,
    /// Where its body begins in the original module, in bytes. 0 for an import.
    pub code_offset: u64,
    /// Whether the module exports it.
    pub exported: bool,
    /// Whether it is a function of the host.
    pub imported: bool,
    /// Whether the module has no name for it: `name` is made up.
    pub unnamed: bool,
    /// Whether its calls are only counted. Their time is part of the caller's.
    #[serde(default, skip_serializing_if = "is_false")]
    pub counted: bool,
    /// Where it is declared; `None` if the module doesn't say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// Names that are shared, so that reports don't copy them.
mod shared {
    use super::{Arc, Deserialize};

    pub(super) fn serialize<S: serde::Serializer>(name: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name)
    }

    pub(super) fn deserialize<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(from).map(Into::into)
    }
}

mod shared_or_none {
    use super::{Arc, Deserialize, Serialize};

    pub(super) fn serialize<S: serde::Serializer>(name: &Option<Arc<str>>, to: S) -> Result<S::Ok, S::Error> {
        name.as_deref().serialize(to)
    }

    pub(super) fn deserialize<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Option<Arc<str>>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Into::into))
    }
}

fn is_zero_bytes(number: &u64) -> bool {
    *number == 0
}
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Symbol {
    /// The name for people: demangled where it was mangled.
    pub fn display_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

/// Where a symbol table comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModuleIdentity {
    /// The module's own name, or its file's.
    pub name: String,
    /// SHA-256 of the original module, in hexadecimal.
    pub sha256: String,
    /// How many functions the original module defines.
    pub functions: u32,
    /// The rewriter's version.
    pub rewriter: String,
    /// The rewriter's options, as one would type them.
    pub options: String,
    /// How many functions the original module imports.
    #[serde(skip_serializing_if = "is_zero")]
    pub imports: u32,
    /// Its code, by which another file of the same build is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeIdentity>,
    /// The content of its section `build_id`, in hexadecimal; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub build_id: String,
    /// What its section `external_debug_info` names: the file with its debug information. Empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub debug_file: String,
    /// What its section `sourceMappingURL` names; empty if it has none, or if the map is in it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source_map: String,
    /// What records allocations, if they are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocations: Option<Allocations>,
}

/// The code section of a module, without its head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeIdentity {
    /// Where it begins in the module, in bytes.
    pub offset: u64,
    /// How many bytes it has.
    pub size: u64,
    /// Their SHA-256, in hexadecimal.
    pub sha256: String,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How a module's allocations are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Allocations {
    /// The functions of its allocator.
    pub allocators: Vec<Allocator>,
    /// Whether instances may share the memory that blocks are in.
    #[serde(skip_serializing_if = "is_false")]
    pub shared_memory: bool,
    /// Whether that memory is imported or exported, so that other modules may have it too.
    #[serde(skip_serializing_if = "is_false")]
    pub linked_memory: bool,
    /// The mean number of allocated bytes per sample; 0 records all allocations. A block of `n` bytes is a
    /// sample with the probability `1 - exp(-n / sample)`.
    #[serde(skip_serializing_if = "is_zero_bytes")]
    pub sample: u64,
    /// How many pages of 64 KiB each of its memories has at first.
    pub pages: Vec<u64>,
    /// Functions that the user named, `malloc=my_alloc`, and that the module lacks: they are another module's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A function of an allocator's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Allocator {
    /// Its index in the original module.
    pub func_index: FuncIndex,
    /// Its name, for people.
    pub name: String,
    /// What it does: `malloc`, `free` and so on.
    pub role: String,
    /// How it was found: by its `name`, by its `export`, or it was `told`.
    pub found_by: String,
}

/// The functions of one module that have probes. Ordered by id, without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolTable {
    /// The module that was rewritten, and the rewriter.
    pub module: ModuleIdentity,
    /// Id of the first symbol. Modules of one program have disjoint ranges of ids.
    pub id_base: u32,
    /// The symbols; the n-th has the id `id_base + n`.
    pub symbols: Vec<Symbol>,
    /// The paths of source files, as the module has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// What is known of the code of each symbol's function, in the order of the symbols; empty if nothing is.
    #[serde(skip)]
    pub codes: Codes,
    /// The functions that are inlined in those of the symbols.
    #[serde(skip)]
    pub inlined: Vec<InlinedFunction>,
}

/// Why bytes are not a symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolsError {
    /// Offset into the table's bytes if they can't be unpacked, else into the unpacked bytes.
    pub offset: usize,
    /// What is wrong there.
    pub message: &'static str,
}

impl fmt::Display for SymbolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad symbol table: {} (at offset {:#x} of it)", self.message, self.offset)
    }
}

impl std::error::Error for SymbolsError {}

impl SymbolTable {
    /// The symbol with this id; `None` if the table has none.
    pub fn get(&self, id: FuncId) -> Option<&Symbol> {
        self.symbols.get(id.0.checked_sub(self.id_base)? as usize)
    }

    /// Where a symbol of this table is declared: the file's path, and the line (0 if it isn't known).
    pub fn source(&self, symbol: &Symbol) -> Option<(&str, u32)> {
        let source = symbol.source?;
        Some((self.files.get(source.file as usize)?, source.line))
    }

    /// What is known of the code of a function.
    pub fn code(&self, id: FuncId) -> FunctionCode {
        id.0.checked_sub(self.id_base).map_or_else(FunctionCode::default, |n| self.codes.get(n as usize))
    }

    /// One past the table's last id.
    pub fn id_end(&self) -> u32 {
        self.id_base.saturating_add(self.symbols.len() as u32)
    }

    /// The symbols, each with its function's index in the rewritten module. That module imports `imported`
    /// functions. The last `added` of these are the probes'. After the imports come the functions that the
    /// original defines, and then the thunks of the functions that it imports.
    pub fn placed(&self, imported: u32, added: u32) -> impl Iterator<Item = (u32, &Symbol)> {
        let mut next_thunk = imported.saturating_add(self.module.functions);
        self.symbols.iter().map(move |symbol| {
            if !symbol.imported {
                return (symbol.func_index.0.saturating_add(added), symbol);
            }
            next_thunk = next_thunk.saturating_add(1);
            (next_thunk - 1, symbol)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Row;

    fn table() -> SymbolTable {
        let symbol = |n: u32, name: &str, demangled: Option<&str>| Symbol {
            id: FuncId(100 + n),
            func_index: FuncIndex(7 * n),
            name: name.into(),
            demangled: demangled.map(Into::into),
            code_offset: 1 << (20 * n),
            exported: n == 0,
            imported: n == 1,
            unnamed: n == 2,
            counted: false,
            source: (n != 1).then_some(Source { file: n / 2, line: 10 * n }),
        };
        let symbols = vec![
            symbol(0, "_ZN4life4stepEv", Some("life::step")),
            symbol(1, "", None),
            symbol(2, "func[14]", None),
        ];
        let module = ModuleIdentity { name: "\"life\"".into(), functions: 3, ..ModuleIdentity::default() };
        let files = vec!["/src/life.rs".into(), "/src/main.rs".into()];
        SymbolTable { module, id_base: 100, symbols, files, ..SymbolTable::default() }
    }

    #[test]
    fn a_table_survives_the_round_trip() {
        assert_eq!(SymbolTable::from_bytes(&table().to_bytes()), Ok(table()));
    }

    #[test]
    fn code_and_inlined_functions_can_be_left_out() {
        let bare = table();
        let mut table = bare.clone();
        let row = Row { offset: 3, source: Some(Source { file: 1, line: 7 }) };
        for _ in &table.symbols {
            table.codes.push(&FunctionCode { rows: vec![row], ..FunctionCode::default() });
        }
        table.inlined = vec![InlinedFunction { name: "life::alive".into(), source: None }];
        let bytes = table.to_bytes();
        assert_eq!(SymbolTable::from_bytes(&bytes), Ok(table));
        assert_eq!(SymbolTable::without_code(&bytes), Ok(bare));
        for length in 0..bytes.len() {
            SymbolTable::without_code(&bytes[..length]).expect_err("cut off");
        }
    }

    #[test]
    fn a_table_of_counted_functions_has_a_version_of_its_own() {
        let mut counted = table();
        counted.symbols[1].counted = true;
        let bytes = counted.to_bytes();
        assert_eq!((table().to_bytes()[0], bytes[0]), (1, 2));
        assert_eq!(SymbolTable::from_bytes(&bytes), Ok(counted));
    }

    #[test]
    fn a_table_cut_anywhere_is_an_error() {
        let bytes = table().to_bytes();
        for length in 0..bytes.len() {
            SymbolTable::from_bytes(&bytes[..length]).expect_err("cut off");
        }
    }

    /// No flipped bit panics, and most are noticed. Some packed bytes don't matter; whoever stores a table adds a checksum.
    #[test]
    fn flipped_bits_mostly_show() {
        let bytes = table().to_bytes();
        let flips = (0..bytes.len() * 8).filter(|flip| {
            let mut broken = bytes.clone();
            broken[flip / 8] ^= 1 << (flip % 8);
            SymbolTable::from_bytes(&broken) != Ok(table())
        });
        assert!(flips.count() > bytes.len() * 8 / 2);
    }

    #[test]
    fn few_bytes_cannot_claim_many() {
        let error = SymbolTable::from_bytes(&[1, 255, 255, 255, 255, 0]).expect_err("a bomb");
        assert_eq!(
            error.to_string(),
            "bad symbol table: it claims more bytes than it can have (at offset 0x1 of it)"
        );
    }

    #[test]
    fn symbols_are_found_by_id_only_in_their_range() {
        let table = table();
        assert_eq!(table.get(FuncId(100)).map(Symbol::display_name), Some("life::step"));
        assert_eq!(table.get(FuncId(102)).map(Symbol::display_name), Some("func[14]"));
        let source = |id| table.get(FuncId(id)).and_then(|symbol| table.source(symbol));
        assert_eq!((source(101), source(102)), (None, Some(("/src/main.rs", 20))));
        assert!(table.get(FuncId(99)).is_none() && table.get(FuncId(103)).is_none());
    }
}
