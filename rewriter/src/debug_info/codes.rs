//! Fills in the call sites, lines and moves of a symbol table.

use crate::debug_info::source::Sources;
use crate::module::info::ModuleInfo;
use crate::module::moves::Moves;
use crate::plan::calls::CallTargets;
use kperf_abi::{CallSite, Codes, FuncIndex, FunctionCode, Inlined, Row, Symbol, SymbolTable};

/// How much of it.
#[derive(Clone, Copy)]
pub(crate) enum Detail<'a> {
    /// The lines of calls.
    Calls,
    /// The lines of all instructions, and the moves of code, if they are known: for the places of samples.
    All(Option<(&'a Moves, usize)>),
}

/// The code of a table's functions. `None` for `calls` if no lines are known.
pub(crate) fn codes(
    info: &ModuleInfo<'_>,
    table: &SymbolTable,
    sources: &Sources,
    calls: Option<&CallTargets>,
    detail: Detail<'_>,
) -> Codes {
    let imports = info.imported_funcs.len();
    let mut codes = Codes::default();
    for symbol in &table.symbols {
        let mut code = FunctionCode::default();
        if let Some(calls) = calls {
            code.class = calls.class_of(symbol.func_index);
        }
        if let Some(n) = (symbol.func_index.0 as usize).checked_sub(imports) {
            let rows = sources.rows(n);
            code.sites = calls.map(|calls| calls.of(n)).unwrap_or_default();
            match detail {
                Detail::Calls => {
                    code.rows = rows_of_sites(&rows, &code.sites);
                    code.inlined = sources.inlined(n).only_at(code.sites.iter().map(|site| site.offset));
                }
                Detail::All(moves) => {
                    code.rows = rows;
                    code.inlined = sources.inlined(n);
                    code.moves = moves.map(|(moves, start)| moves.of(n, start)).unwrap_or_default();
                }
            }
        }
        codes.push(&code);
    }
    codes.or_none()
}

/// Adds the code from another file to a table. The file's source files begin at `first_file`, and its inlined
/// functions follow the table's. Without `calls` the table keeps its own call sites. A table without moves gets only
/// the lines of calls.
pub(crate) fn add(
    table: &mut SymbolTable,
    first_file: u32,
    calls: Option<&CallTargets>,
    mut lines_of: impl FnMut(&Symbol) -> (Vec<Row>, Inlined),
    defined: impl Fn(FuncIndex) -> Option<usize>,
) {
    let mut codes = Codes::default();
    let first_inlined = table.inlined.len() as u32;
    let is_of_trace = calls.is_some() && table.codes.iter().all(|code| code.moves.is_empty());
    for (n, symbol) in table.symbols.iter().enumerate() {
        let mut code = table.codes.get(n);
        if let Some(calls) = calls {
            code.class = calls.class_of(symbol.func_index);
            code.sites = defined(symbol.func_index).map(|body| calls.of(body)).unwrap_or_default();
        }
        let (mut rows, mut inlined) = lines_of(symbol);
        if is_of_trace {
            rows = rows_of_sites(&rows, &code.sites);
            inlined = inlined.only_at(code.sites.iter().map(|site| site.offset));
        }
        if !rows.is_empty() {
            let code_lines = FunctionCode { rows, inlined, ..FunctionCode::default() };
            let code_lines = code_lines
                .with_files(|file| file.checked_add(first_file))
                .with_inlined(|function| function.checked_add(first_inlined));
            (code.rows, code.inlined) = (code_lines.rows, code_lines.inlined);
        }
        codes.push(&code);
    }
    table.codes = codes.or_none();
}

/// The rows that contain calls.
fn rows_of_sites(rows: &[Row], sites: &[CallSite]) -> Vec<Row> {
    let mut found: Vec<Row> = Vec::new();
    for site in sites {
        let after = rows.partition_point(|row| row.offset <= site.offset);
        let source = after.checked_sub(1).and_then(|at| rows.get(at)).and_then(|row| row.source);
        if found.last().map_or(source.is_some(), |last| last.source != source) {
            found.push(Row { offset: site.offset, source });
        }
    }
    found
}
