//! Which function an id stands for, over all modules of a trace.

use kperf_abi::symbols::SymbolsError;
use kperf_abi::{FuncId, Symbol, SymbolTable};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::fmt::{self, Write};

/// Stands for the host: the root of the call tree, the caller of what nobody in the guest called.
pub const HOST: FuncId = FuncId(u32::MAX);
/// Stands for a function whose enter was lost. Ids of real functions have 30 bits.
pub const LOST: FuncId = FuncId(u32::MAX - 1);
/// Stands for whoever called functions that were counted and that no sample found.
pub const UNSEEN: FuncId = FuncId(u32::MAX - 2);

/// Whether this stands for who calls from outside of what is known, rather than for a function.
pub(crate) fn is_outside(func: FuncId) -> bool {
    func == HOST || func == UNSEEN
}

/// The symbol tables of a trace.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Ordered by `id_base`; their ids are disjoint.
    tables: Vec<SymbolTable>,
    /// How many symbols have a name.
    names: FxHashMap<String, u32>,
    problems: Vec<SymbolsProblem>,
}

/// A symbol table that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolsProblem {
    /// Its bytes are no symbol table.
    Unreadable(SymbolsError),
    /// Its ids are taken.
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
    /// Adds the table in these bytes. What can't be used is kept as a problem.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        match SymbolTable::from_bytes(bytes) {
            Ok(table) => self.add(table),
            Err(error) => self.problems.push(SymbolsProblem::Unreadable(error)),
        }
    }

    /// Adds a table. The same one again is fine; another one with ids that are taken is a problem.
    pub fn add(&mut self, table: SymbolTable) {
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
            self.problems.push(SymbolsProblem::Overlap { module, other });
            return;
        }
        for symbol in &table.symbols {
            *self.names.entry(symbol.display_name().to_owned()).or_default() += 1;
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

    /// The tables that could not be used.
    pub fn problems(&self) -> &[SymbolsProblem] {
        &self.problems
    }

    /// The symbol with this id, if any table has it.
    pub fn get(&self, id: FuncId) -> Option<&Symbol> {
        self.table(id)?.get(id)
    }

    /// Whether the calls of a function are counted only: its time is in that of its callers.
    pub fn is_counted(&self, id: FuncId) -> bool {
        self.get(id).is_some_and(|symbol| symbol.counted)
    }

    /// Where a function is declared, if its module says it: the source file's path, and the line, 0 where it isn't known.
    pub fn source(&self, id: FuncId) -> Option<(&str, u32)> {
        let table = self.table(id)?;
        table.source(table.get(id)?)
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
            None => format!("func id {}", id.0).into(),
        }
    }

    /// The name for people: unique (`copy #17` where there are several `copy`), and safe for a terminal.
    pub fn label(&self, id: FuncId) -> String {
        let name = self.name(id);
        let mut label = printable(&name).into_owned();
        if self.get(id).is_some() && self.names.get(name.as_ref()).is_some_and(|&count| count > 1) {
            label.push_str(&format!(" #{}", id.0));
        }
        label
    }
}

/// Text from a module, such that it can't move the cursor, ring, or turn the line around: names are the module's own.
pub fn printable(text: &str) -> Cow<'_, str> {
    let bad = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(bad) {
        return text.into();
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if bad(c) {
            // Writing to a String doesn't fail.
            let _ = write!(clean, "{}", c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean.into()
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
        symbols.add(table("a", 0, &["copy", "one", "copy", "evil\x1b[2J\n\u{202e}ü"]));
        assert_eq!(
            [0, 1, 2, 3].map(|id| symbols.label(FuncId(id))),
            ["copy #0", "one", "copy #2", "evil\\u{1b}[2J\\n\\u{202e}ü"]
        );
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
        let told: Vec<_> = symbols.problems().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "the modules `a` and `b` have function ids in common; names are those of `a`",
                "the modules `a` and `c` have function ids in common; names are those of `a`",
                "bad symbol table: its version is unknown (at offset 0x0 of it)",
            ]
        );
        assert_eq!(symbols.name(FuncId(6)), "y");
    }
}
