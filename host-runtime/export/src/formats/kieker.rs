//! Records of Kieker, in the text format that its trace analysis reads.
//!
//! ```text
//! kieker.map    $0=kieker.common.record.misc.KiekerMetadataRecord
//!               $1=kieker.common.record.controlflow.OperationExecutionRecord
//! kieker.dat    $1;logged;signature;session;trace;in;out;host;eoi;ess
//! ```
//!
//! Each call of the host is a trace of Kieker's; `eoi` is the call's place in it, `ess` its depth. Times are nanoseconds
//! since 1970. Kieker reads signatures of Java, `package.Class.method()`, so a name's `::` and `/` become dots, and other
//! characters with a meaning in signatures (blanks, brackets, semicolons) become `_`.

use kperf_abi::FuncId;
use kperf_profile::{CallFilter, CallSink, Exported, ListedCall, MAX_CACHED, Symbols, list_calls};
use kperf_trace::{Anchor, Calendar, TraceReader};
use rustc_hash::{FxHashMap, FxHashSet};
use std::io::{self, Read, Write};

/// Name of the file with the record types' numbers.
pub const MAP_FILE: &str = "kieker.map";
/// Name of the file with the records. Kieker requires this beginning.
pub const RECORDS_FILE: &str = "kieker-19700101-000000000-UTC-000-Thread-1.dat";

/// Writes the record types' numbers.
pub fn write_map(mut out: impl Write) -> io::Result<()> {
    writeln!(out, "$0=kieker.common.record.misc.KiekerMetadataRecord")?;
    writeln!(out, "$1=kieker.common.record.controlflow.OperationExecutionRecord")?;
    out.flush()
}

/// Writes a record for each call of a trace that a filter lets through, while it is read. The records name `program` as
/// their origin.
///
/// Fails if reading or writing fails. `progress` gets the number of bytes read.
pub fn write_records<R: Read, W: Write>(
    reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    program: &str,
    mut out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    let anchor_nanos = reader.header().anchor.unix_nanos;
    let calendar = Calendar::new(reader.header());
    let host = word(program);
    writeln!(out, "$0;{anchor_nanos};2.0.0;kperf-wasm;{host};0;false;0;NANOSECONDS;0")?;
    let records = Records { out, names: Signatures::default(), calendar, host };
    let (mut records, exported) = list_calls(reader, filter, records, &mut progress)?;
    records.out.flush()?;
    Ok(exported)
}

struct Records<W> {
    out: W,
    names: Signatures,
    calendar: Calendar,
    host: String,
}

impl<W: Write> CallSink for Records<W> {
    fn call(&mut self, symbols: &Symbols, call: &ListedCall) -> io::Result<()> {
        let [start, end] = [call.start_ticks, call.end_ticks].map(|ticks| self.calendar.unix_nanos(ticks));
        let (signature, host) = (self.names.get(symbols, call.func), &self.host);
        let ListedCall { root, place, depth, .. } = *call;
        writeln!(self.out, "$1;{end};{signature};<no-session-id>;{root};{start};{end};{host};{place};{depth}")
    }

    fn anchor(&mut self, anchor: &Anchor) {
        self.calendar.anchor(anchor);
    }
}

/// The signatures of functions. If two functions would have the same signature, the later one's id is added to it.
#[derive(Default)]
struct Signatures {
    made: FxHashMap<FuncId, String>,
    taken: FxHashSet<String>,
}

impl Signatures {
    fn get(&mut self, symbols: &Symbols, func: FuncId) -> &str {
        let Signatures { made, taken } = self;
        if made.len() >= MAX_CACHED {
            made.clear();
            taken.clear();
        }
        made.entry(func).or_insert_with(|| {
            let label = symbols.label(func);
            let plain = signature(&label);
            if !taken.insert(plain.clone()) {
                return signature(&format!("{label}#{}", func.0));
            }
            plain
        })
    }
}

/// A name in Java's form. A name without a class gets one, since Kieker takes the last part as the method.
fn signature(name: &str) -> String {
    let dotted = name.replace("::", ".").replace('/', ".");
    let parts: Vec<String> = dotted.split('.').filter(|part| !part.is_empty()).map(word).collect();
    match parts.as_slice() {
        [] => "wasm._()".to_owned(),
        [method] => format!("wasm.{method}()"),
        parts => format!("{}()", parts.join(".")),
    }
}

fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || matches!(c, '$' | '-' | '#') { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Signatures, signature};
    use kperf_abi::{FuncId, FuncIndex, Symbol, SymbolTable};
    use kperf_profile::Symbols;

    #[test]
    fn names_look_like_java() {
        for (name, expected) in [
            ("life::step", "life.step()"),
            ("main", "wasm.main()"),
            ("a::b<int, c::d>::operator()(int)", "a.b_int__c.d_.operator___int_()"),
            ("life/step", "life.step()"),
            ("copy #17", "wasm.copy_#17()"),
            ("::", "wasm._()"),
        ] {
            assert_eq!(signature(name), expected, "{name}");
        }
    }

    #[test]
    fn overloads_stay_apart() {
        let symbol = |(id, name): (u32, &str)| Symbol {
            id: FuncId(id),
            func_index: FuncIndex(id),
            name: name.into(),
            ..Symbol::default()
        };
        let symbols = (0..).zip(["f(int*)", "f(int&)", "g"]).map(symbol).collect();
        let mut known = Symbols::default();
        known.add(SymbolTable { symbols, ..SymbolTable::default() });
        let mut signatures = Signatures::default();
        for (id, expected) in
            [(0, "wasm.f_int__()"), (1, "wasm.f_int__#1()"), (0, "wasm.f_int__()"), (2, "wasm.g()")]
        {
            assert_eq!(signatures.get(&known, FuncId(id)), expected);
        }
    }
}
