//! The functions of a trace by their ids, over all its modules.

use kperf_abi::symbols::{MAX_BYTES, MAX_SYMBOLS, SymbolsError};
use kperf_abi::word::WAIT_ID;
use kperf_abi::{FuncId, FunctionCode, InlinedFunction, Symbol, SymbolTable};
use rustc_hash::{FxHashMap, FxHasher};
use std::borrow::Cow;
use std::fmt;
use std::hash::Hasher;
use std::ops::Deref;
use std::sync::Arc;

pub use kperf_abi::printable;
pub use kperf_trace::{WAITING, WAITING_FOR_PROCESSOR};

/// The host: the root of the call tree, and the caller of all calls that no function of the guest made.
pub const HOST: FuncId = FuncId(u32::MAX);
/// A function whose enter was lost. Ids of real functions have 30 bits.
pub const LOST: FuncId = FuncId(u32::MAX - 1);
/// The unknown callers of functions that were called, but that no sample found.
pub const UNSEEN: FuncId = FuncId(u32::MAX - 2);

/// All calls over the limits of paths and of open frames.
pub const OTHER: FuncId = FuncId(u32::MAX - 3);

/// The recorder's work on the guest's thread: handing over events, or waiting for room.
pub const RECORDER: FuncId = FuncId(u32::MAX - 4);

/// The times that are no function's self time, each shown as a call of its own.
pub const PAUSES: [FuncId; 3] = [RECORDER, WAITING_FOR_PROCESSOR, WAITING];

/// Whether an id is not a real function's.
pub fn is_stand_in(func: FuncId) -> bool {
    func.0 >= WAITING.0
}

/// Whether an id is that of a wait.
pub(crate) fn is_wait(func: FuncId) -> bool {
    func == WAITING_FOR_PROCESSOR || func == WAITING
}

/// Whether an id is one of [`PAUSES`].
pub fn is_pause(func: FuncId) -> bool {
    PAUSES.contains(&func)
}

/// Whether an id is [`HOST`], [`UNSEEN`] or one of [`PAUSES`]: outside of the guest's functions.
pub fn is_outside(func: FuncId) -> bool {
    func == HOST || func == UNSEEN || is_pause(func)
}

/// How many problems are kept.
const MAX_PROBLEMS: usize = 64;

/// The symbol tables of a trace.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Ordered by `id_base`; their ids are disjoint.
    tables: Vec<SymbolTable>,
    /// How many symbols have a name, by its hash: names may have a hundred megabytes.
    names: FxHashMap<u64, u32>,
    /// How many symbols there are, and how many bytes their names and files have.
    symbols: usize,
    bytes: usize,
    problems: Vec<SymbolsProblem>,
    /// Whether code and inlined functions are dropped.
    without_code: bool,
    /// Whether two modules have the same name, or two functions of a module the same index. Then ids tell functions apart.
    has_twins: bool,
}

/// A symbol table that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolsProblem {
    /// Its bytes are no symbol table.
    Unreadable(SymbolsError),
    /// It has more than can be kept beside the tables before it.
    TooMuch {
        /// The module it is of.
        module: String,
    },
    /// Another table has the same ids.
    Overlap {
        /// The module it is of.
        module: String,
        /// The module that has its ids.
        other: String,
    },
}

impl fmt::Display for SymbolsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymbolsProblem::Unreadable(error) => error.fmt(f),
            SymbolsProblem::TooMuch { module } => write!(
                f,
                "the names of the module `{}` are not kept: those of all modules are more than {MAX_SYMBOLS}, or than {} MiB",
                printable(module),
                MAX_BYTES >> 20
            ),
            SymbolsProblem::Overlap { module, other } => {
                let (module, other) = (printable(module), printable(other));
                write!(
                    f,
                    "the modules `{other}` and `{module}` have function ids in common; names are those of `{other}`"
                )
            }
        }
    }
}

impl Symbols {
    /// Drops code and inlined functions of all tables that are added from now on, for reports without lines. In a large
    /// module they take as much memory as the names.
    pub(crate) fn leave_code_out(&mut self) {
        self.without_code = true;
    }

    /// Adds the table in these bytes. A table that can't be used is kept as a problem.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        let table = match self.without_code {
            false => SymbolTable::from_bytes(bytes),
            true => SymbolTable::without_code(bytes),
        };
        match table {
            Ok(table) => self.add(table),
            Err(error) => self.problem(SymbolsProblem::Unreadable(error)),
        }
    }

    fn problem(&mut self, problem: SymbolsProblem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Adds a table. The same one again is fine; another one with ids that are taken is a problem.
    pub fn add(&mut self, mut table: SymbolTable) {
        if self.without_code {
            (table.codes, table.inlined) = Default::default();
        }
        for symbol in table.symbols.iter_mut().filter(|symbol| symbol.display_name().is_empty()) {
            // As the rewriter calls functions without a name.
            (symbol.name, symbol.demangled) = (format!("func[{}]", symbol.func_index.0).into(), None);
        }
        let names = table
            .symbols
            .iter_mut()
            .flat_map(|symbol| [Some(&mut symbol.name), symbol.demangled.as_mut()].into_iter().flatten());
        names.for_each(shorten);
        table.inlined.iter_mut().for_each(|function| shorten(&mut function.name));
        for file in table.files.iter_mut().filter(|file| file.len() > MAX_PATH) {
            file.truncate(file.floor_char_boundary(MAX_PATH));
        }
        if table.symbols.is_empty() || self.tables.contains(&table) {
            return;
        }
        let at = self.tables.partition_point(|other| other.id_base < table.id_base);
        let before = at.checked_sub(1).and_then(|before| self.tables.get(before));
        let overlapping = before
            .filter(|before| before.id_end() > table.id_base)
            .or_else(|| self.tables.get(at).filter(|after| table.id_end() > after.id_base));
        if let Some(other) = overlapping {
            let (module, other) = (table.module.name, other.module.name.clone());
            self.problem(SymbolsProblem::Overlap { module, other });
            return;
        }
        let bytes = bytes_of(&table);
        if self.symbols + table.symbols.len() > MAX_SYMBOLS || self.bytes.saturating_add(bytes) > MAX_BYTES {
            self.problem(SymbolsProblem::TooMuch { module: table.module.name });
            return;
        }
        let is_same = |other: &SymbolTable| printable(&other.module.name) == printable(&table.module.name);
        let indices = table.symbols.iter().map(|symbol| symbol.func_index);
        self.has_twins |= !indices.is_sorted_by(|a, b| a < b) || self.tables.iter().any(is_same);
        self.symbols += table.symbols.len();
        self.bytes += bytes;
        for symbol in &table.symbols {
            *self.names.entry(hash_of(&printable(symbol.display_name()))).or_default() += 1;
        }
        self.tables.insert(at, table);
    }

    /// The tables, in the order of their ids.
    pub fn tables(&self) -> &[SymbolTable] {
        &self.tables
    }

    /// All symbols, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol> + Clone {
        self.tables.iter().flat_map(|table| &table.symbols)
    }

    /// Tables that could not be used, and why.
    pub fn problems(&self) -> &[SymbolsProblem] {
        &self.problems
    }

    /// The symbol with this id, if any table has it.
    pub fn get(&self, id: FuncId) -> Option<&Symbol> {
        self.table(id)?.get(id)
    }

    /// Whether the calls of a function are only counted: then its time is part of its callers'.
    pub fn is_counted(&self, id: FuncId) -> bool {
        self.get(id).is_some_and(|symbol| symbol.counted)
    }

    /// Where a function is declared, if its module says it: the source file's path, and the line, 0 where it isn't known.
    pub fn source(&self, id: FuncId) -> Option<(&str, u32)> {
        let table = self.table(id)?;
        table.source(table.get(id)?)
    }

    /// The code of a function; empty if it is unknown.
    pub fn code(&self, id: FuncId) -> FunctionCode {
        self.table(id).map_or_else(FunctionCode::default, |table| table.code(id))
    }

    /// The path of a source file of the module that a function is of.
    pub fn file(&self, id: FuncId, file: u32) -> Option<&str> {
        self.table(id)?.files.get(file as usize).map(String::as_str)
    }

    /// The function that a function's code calls by this number and that is inlined in it.
    pub fn inlined(&self, id: FuncId, function: u32) -> Option<&InlinedFunction> {
        self.table(id)?.inlined.get(function as usize)
    }

    /// The table that has this id.
    fn table(&self, id: FuncId) -> Option<&SymbolTable> {
        let at = self.tables.partition_point(|table| table.id_base <= id.0);
        self.tables.get(at.checked_sub(1)?)
    }

    /// The name as the source has it; `func id 17` for an id that no table has. Not unique, and anything may be in it.
    pub fn name(&self, id: FuncId) -> Cow<'_, str> {
        match self.get(id) {
            Some(symbol) => symbol.display_name().into(),
            None if id == HOST => "[host]".into(),
            None if id == LOST => "[lost]".into(),
            None if id == UNSEEN => "[unseen]".into(),
            None if id == OTHER => "[other]".into(),
            None if id == RECORDER => "[recorder]".into(),
            None if id == WAITING_FOR_PROCESSOR => "[waiting for a processor]".into(),
            None if id == WAITING => "[waiting]".into(),
            // One in which the guest was called again.
            None if id == FuncId(WAIT_ID) => "memory.atomic.wait".into(),
            None => format!("func id {}", id.0).into(),
        }
    }

    /// The name as a shared string.
    pub fn shared_name(&self, id: FuncId) -> Arc<str> {
        match self.get(id) {
            Some(symbol) => symbol.demangled.as_ref().unwrap_or(&symbol.name).clone(),
            None => self.name(id).into(),
        }
    }

    /// The name for people: unique, and safe for a terminal. It is `copy #17`, with the function's index in its module, where there are
    /// several `copy`, or where one is called as if there were; `copy #17 (app)` if there are several modules.
    pub fn label(&self, id: FuncId) -> String {
        let label = printable(&self.name(id)).into_owned();
        match self.table(id).and_then(|table| Some((table, table.get(id)?))) {
            Some((table, symbol)) if self.is_numbered(&label) => match (self.has_twins, &self.tables[..]) {
                (true, _) => format!("{label} #{}", id.0),
                (false, [_]) => format!("{label} #{}", symbol.func_index.0),
                (false, _) => {
                    format!("{label} #{} ({})", symbol.func_index.0, printable(&table.module.name))
                }
            },
            _ => label,
        }
    }

    /// Whether no other function has this one's name.
    pub fn is_unique(&self, id: FuncId) -> bool {
        !self.is_numbered(&printable(&self.name(id)))
    }

    /// The labels that aren't just names.
    pub fn numbered_labels(&self) -> impl Iterator<Item = String> {
        let numbered = |symbol: &&Symbol| self.is_numbered(&printable(symbol.display_name()));
        self.iter().filter(numbered).map(|symbol| self.label(symbol.id))
    }

    /// Whether a printed name needs a number.
    fn is_numbered(&self, name: &str) -> bool {
        has_number(name) || self.names.get(&hash_of(name)).is_some_and(|&count| count > 1)
    }
}

/// The longest name, in bytes. Some formats repeat names, and files must stay small.
const MAX_NAME: usize = 1 << 16;

/// The longest path of a source file, in bytes: some formats say it with each function.
const MAX_PATH: usize = 1 << 12;

/// Cuts a name that is too long.
fn shorten<S: Deref<Target = str> + From<String>>(name: &mut S) {
    if name.len() > MAX_NAME {
        *name = format!("{}..", &name[..name.floor_char_boundary(MAX_NAME)]).into();
    }
}

/// Bytes of an inlined function without its name.
const INLINED_LEN: usize = size_of::<InlinedFunction>();

/// Bytes of a table's texts as they are printed.
fn bytes_of(table: &SymbolTable) -> usize {
    let names = |symbol: &Symbol| {
        printable(&symbol.name).len() + symbol.demangled.as_deref().map_or(0, |name| printable(name).len())
    };
    let module = &table.module;
    let identity = [&module.name, &module.sha256, &module.rewriter, &module.options];
    let texts = table.files.iter().chain(identity).map(|text| text.len() + size_of::<String>());
    let names = table.symbols.iter().map(names);
    let inlined = table.inlined.iter().map(|function| printable(&function.name).len() + INLINED_LEN);
    names.chain(texts).chain(inlined).chain([table.codes.size()]).fold(0, usize::saturating_add)
}

/// The hash of a name. Two names with one hash are labelled as if they were equal.
fn hash_of(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// Whether a name has ` #` and a digit, as labels of equal names do.
fn has_number(name: &str) -> bool {
    let mut ends = name.match_indices(" #").filter_map(|(at, mark)| name.get(at + mark.len()..));
    ends.any(|end| end.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::symbols::ModuleIdentity;

    fn table(module: &str, id_base: u32, names: &[&str]) -> SymbolTable {
        let symbols = names.iter().zip(id_base..).map(|(&name, id)| Symbol {
            id: FuncId(id),
            func_index: kperf_abi::FuncIndex(id),
            name: name.into(),
            ..Symbol::default()
        });
        let module = ModuleIdentity { name: module.into(), ..ModuleIdentity::default() };
        SymbolTable { module, id_base, symbols: symbols.collect(), ..SymbolTable::default() }
    }

    #[test]
    fn names_come_from_the_table_that_has_the_id() {
        let mut symbols = Symbols::default();
        symbols.add(table("b", 10, &["x", "y"]));
        symbols.add(table("a", 0, &["main"]));
        symbols.add_bytes(&table("c", 12, &["z"]).to_bytes());
        let names = [0, 10, 11, 12, 1, 13].map(|id| symbols.name(FuncId(id)).into_owned());
        assert_eq!(names, ["main", "x", "y", "z", "func id 1", "func id 13"]);
        assert_eq!([HOST, LOST].map(|id| symbols.label(id)), ["[host]", "[lost]"]);
        assert_eq!(symbols.problems(), []);
    }

    #[test]
    fn equal_names_stay_apart_and_odd_ones_are_harmless() {
        let mut symbols = Symbols::default();
        symbols.add(table("a", 0, &["copy", "one", "copy", "evil\x1b[2J\n\u{202e}ü\u{200f}\u{2028}"]));
        assert_eq!(
            [0, 1, 2, 3].map(|id| symbols.label(FuncId(id))),
            ["copy #0", "one", "copy #2", "evil\\u{1b}[2J\\n\\u{202e}ü\\u{200f}\\u{2028}"]
        );
        // Names that look as if they had a number added, and names that look the same when printed.
        symbols.add(table("b", 4, &["copy #2", "a\nb", "a\\nb", "a #b"]));
        assert_eq!(
            [2, 4, 5, 6, 7].map(|id| symbols.label(FuncId(id))),
            ["copy #2 (a)", "copy #2 #4 (b)", "a\\nb #5 (b)", "a\\nb #6 (b)", "a #b"]
        );
        assert_eq!(symbols.numbered_labels().count(), 5);
        symbols.add(table("b", 8, &["one", "copy #2 (a)"]));
        assert_eq!(
            [1, 2, 8, 9].map(|id| symbols.label(FuncId(id))),
            ["one #1", "copy #2", "one #8", "copy #2 (a) #9"],
            "ids tell modules of one name apart"
        );
    }

    #[test]
    fn functions_without_a_name_have_their_index() {
        let mut symbols = Symbols::default();
        symbols.add(table("a", 3, &["", "one"]));
        assert_eq!((symbols.label(FuncId(3)), &*symbols.name(FuncId(3))), ("func[3]".to_owned(), "func[3]"));
    }

    #[test]
    fn tables_that_overlap_are_told() {
        let mut symbols = Symbols::default();
        for _ in 0..2 {
            symbols.add(table("a", 5, &["x", "y"]));
        }
        assert_eq!(symbols.problems(), [], "the same table twice is fine");
        symbols.add(table("b", 6, &["z"]));
        symbols.add(table("c", 0, &["1", "2", "3", "4", "5", "6"]));
        symbols.add_bytes(b"no table");
        let problems_text: Vec<_> = symbols.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            problems_text,
            [
                "the modules `a` and `b` have function ids in common; names are those of `a`",
                "the modules `a` and `c` have function ids in common; names are those of `a`",
                "bad symbol table: its version is unknown (at offset 0x0 of it)",
            ]
        );
        assert_eq!(symbols.name(FuncId(6)), "y");
    }
}
