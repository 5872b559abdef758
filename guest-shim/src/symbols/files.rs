//! The source files of a table.

use super::{Source, SymbolTable};
use std::collections::{HashMap, HashSet};

impl SymbolTable {
    /// Leaves out files that nothing names, and has each of the others once: names that come from one file after another bring
    /// the same files again.
    pub fn tidy_files(&mut self) {
        let named =
            self.symbols.iter().filter_map(|symbol| Some(symbol.source?.file)).chain(self.codes.files());
        let named: HashSet<u32> = named.collect();
        let mut kept: Vec<String> = Vec::new();
        let mut by_path: HashMap<String, u32> = HashMap::new();
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        for (path, old) in std::mem::take(&mut self.files).into_iter().zip(0..) {
            if !named.contains(&old) {
                continue;
            }
            let number = *by_path.entry(path).or_insert_with_key(|path| {
                kept.push(path.clone());
                kept.len() as u32 - 1
            });
            numbers.insert(old, number);
        }
        self.files = kept;
        for symbol in &mut self.symbols {
            let source =
                symbol.source.and_then(|source| Some(Source { file: *numbers.get(&source.file)?, ..source }));
            symbol.source = source;
        }
        self.codes = self.codes.with_files(|file| numbers.get(&file).copied());
    }
}

#[cfg(test)]
mod tests {
    use crate::{Codes, FunctionCode, Row, Source, Symbol, SymbolTable};

    #[test]
    fn each_file_is_there_once() {
        let source = |file, line| Some(Source { file, line });
        let mut codes = Codes::default();
        codes.push(&FunctionCode {
            rows: vec![Row { offset: 1, source: source(3, 7) }, Row { offset: 2, source: source(9, 8) }],
            ..FunctionCode::default()
        });
        let mut table = SymbolTable {
            symbols: vec![Symbol { source: source(1, 5), ..Symbol::default() }],
            files: ["unused", "a.c", "b.c", "a.c"].map(str::to_owned).to_vec(),
            codes,
            ..SymbolTable::default()
        };
        table.tidy_files();
        assert_eq!(table.files, ["a.c"]);
        assert_eq!(table.symbols[0].source, source(0, 5));
        let rows: Vec<_> = table.codes.get(0).rows.iter().map(|row| row.source).collect();
        assert_eq!(rows, [source(0, 7), None]);
    }
}
