//! The source files of a table.

use super::SymbolTable;
use crate::code::InlinedFunction;
use crate::function::Source;
use std::collections::{HashMap, HashSet};

impl SymbolTable {
    /// Removes unused and duplicate files. Duplicates arise when names come from several files.
    pub fn tidy_files(&mut self) {
        self.tidy_inlined();
        let mut named: HashSet<u32> =
            self.symbols.iter().filter_map(|symbol| Some(symbol.source?.file)).collect();
        named.extend(self.inlined.iter().filter_map(|function| Some(function.source?.file)));
        for code in self.codes.iter() {
            named.extend(code.rows.iter().filter_map(|row| Some(row.source?.file)));
            named.extend(code.inlined.calls.iter().filter_map(|call| Some(call.source?.file)));
        }
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
        let symbols = self.symbols.iter_mut().map(|symbol| &mut symbol.source);
        for source in symbols.chain(self.inlined.iter_mut().map(|function| &mut function.source)) {
            *source = source.and_then(|source| Some(Source { file: *numbers.get(&source.file)?, ..source }));
        }
        self.codes = self.codes.renumbered(|file| numbers.get(&file).copied(), Some);
    }

    /// Removes unused and duplicate inlined functions.
    pub fn tidy_inlined(&mut self) {
        if self.inlined.is_empty() {
            return;
        }
        let mut named = HashSet::new();
        for code in self.codes.iter() {
            named.extend(code.inlined.calls.iter().map(|call| call.function));
        }
        let mut known: HashMap<InlinedFunction, u32> = HashMap::new();
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        for (function, old) in std::mem::take(&mut self.inlined).into_iter().zip(0..) {
            if !named.contains(&old) {
                continue;
            }
            let next = known.len() as u32;
            numbers.insert(old, *known.entry(function).or_insert(next));
        }
        let mut kept: Vec<(InlinedFunction, u32)> = known.into_iter().collect();
        kept.sort_unstable_by_key(|(_, number)| *number);
        let kept: Vec<InlinedFunction> = kept.into_iter().map(|(function, _)| function).collect();
        if kept.len() as u64 != numbers.len() as u64 || numbers.iter().any(|(old, new)| old != new) {
            self.codes = self.codes.renumbered(Some, |old| numbers.get(&old).copied());
        }
        self.inlined = kept;
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Codes, FunctionCode, Inlined, InlinedCall, InlinedFunction, Region, Row, Source, Symbol, SymbolTable,
    };

    #[test]
    fn each_file_is_there_once() {
        let source = |file, line| Some(Source { file, line });
        let mut codes = Codes::default();
        codes.push(&FunctionCode {
            rows: vec![Row { offset: 1, source: source(3, 7) }, Row { offset: 2, source: source(9, 8) }],
            inlined: Inlined {
                calls: vec![InlinedCall { caller: None, function: 2, source: source(2, 4) }],
                regions: vec![Region { offset: 1, call: Some(0) }],
            },
            ..FunctionCode::default()
        });
        let function = |name: &str, file| InlinedFunction { name: name.into(), source: source(file, 1) };
        let mut table = SymbolTable {
            symbols: vec![Symbol { source: source(1, 5), ..Symbol::default() }],
            files: ["unused", "a.c", "b.c", "a.c"].map(str::to_owned).to_vec(),
            codes,
            inlined: vec![function("unused", 0), function("twice", 3), function("f", 3)],
            ..SymbolTable::default()
        };
        table.tidy_files();
        assert_eq!(table.files, ["a.c", "b.c"]);
        assert_eq!(table.inlined, [function("f", 0)]);
        let calls = table.codes.get(0).inlined.calls;
        assert_eq!(calls, [InlinedCall { caller: None, function: 0, source: source(1, 4) }]);
        assert_eq!(SymbolTable::from_bytes(&table.to_bytes()), Ok(table.clone()));
        assert_eq!(table.symbols[0].source, source(0, 5));
        let rows: Vec<_> = table.codes.get(0).rows.iter().map(|row| row.source).collect();
        assert_eq!(rows, [source(0, 7), None]);
    }
}
