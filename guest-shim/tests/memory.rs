//! Large symbol tables are never in memory unpacked, beside what they are packed in or read into.

#![allow(missing_docs, clippy::unwrap_used)]

use kperf_abi::{FuncId, FuncIndex, Symbol, SymbolTable};
use peak_alloc::PeakAlloc;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

/// How many bytes more there were at most than there are when it is done.
fn beside<T>(action: impl FnOnce() -> T) -> (T, usize) {
    PEAK.reset_peak_usage();
    let result = action();
    (result, PEAK.peak_usage() - PEAK.current_usage())
}

#[test]
fn a_large_table_takes_no_more_than_what_it_is_read_into() {
    let name =
        |n: u32| format!("std::vector<std::pair<type{}, type{}>>::insert{n}", n % 7, n % 1_000).repeat(6);
    let symbol = |n: u32| Symbol {
        id: FuncId(n),
        func_index: FuncIndex(n),
        name: name(n).into(),
        ..Symbol::default()
    };
    let symbols: Vec<Symbol> = (0..100_000).map(symbol).collect();
    let unpacked: usize = symbols.iter().map(|symbol| symbol.name.len()).sum();
    assert!(unpacked > 20 << 20);
    let table = SymbolTable { symbols, ..SymbolTable::default() };
    let (bytes, beside_bytes) = beside(|| table.to_bytes());
    // A vector that grows has twice its size for a moment.
    assert!(beside_bytes < 2 * bytes.len() + (2 << 20), "{beside_bytes} beside {}", bytes.len());
    assert!(bytes.len() < unpacked / 3, "{} of {unpacked}", bytes.len());
    let (read, beside_table) = beside(|| SymbolTable::from_bytes(&bytes).unwrap());
    assert!(beside_table < 2 << 20, "{beside_table}");
    assert!(read == table);
}
