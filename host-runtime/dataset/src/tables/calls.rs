//! All calls of a trace, one by one, for the table `calls`.

use crate::tables::ids::function_id;
use crate::tables::rows::CallRow;
use crate::tables::table::Writer;
use kperf_abi::FuncId;
use kperf_profile::{CallFilter, CallSink, ListedCall, Symbols, list_calls, nanos_since_anchor};
use kperf_trace::{Header, TraceReader};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};

/// How many rows are kept before they are written.
const ROWS: usize = 1 << 16;

/// Writes the calls of a trace.
#[derive(Clone, Copy, Debug)]
pub struct CallRows {
    /// The run of the calls.
    pub run_id: i64,
}

struct Sink<W: Write + Send> {
    header: Header,
    of: CallRows,
    out: Writer<W>,
    rows: Vec<CallRow>,
    functions: FxHashMap<FuncId, i64>,
}

impl CallRows {
    /// Writes them as a Parquet file. Fails if reading or writing fails.
    pub fn write<R: Read, W: Write + Send>(self, reader: TraceReader<R>, out: W) -> io::Result<()> {
        let out = Writer::of::<CallRow>(out)?;
        let header = reader.header().clone();
        let sink = Sink { header, of: self, out, rows: Vec::new(), functions: FxHashMap::default() };
        let (mut sink, _) = list_calls(reader, &CallFilter::default(), sink, &mut |_| ())?;
        sink.out.write(&sink.rows)?;
        sink.out.finish()
    }
}

impl<W: Write + Send> CallSink for Sink<W> {
    fn call(&mut self, symbols: &Symbols, call: &ListedCall) -> io::Result<()> {
        let function =
            self.functions.entry(call.func).or_insert_with(|| function_id(&symbols.name(call.func)));
        self.rows.push(CallRow {
            run_id: self.of.run_id,
            call: call.id,
            parent: call.parent,
            lane: call.lane.to_string(),
            depth: i32::try_from(call.depth).unwrap_or(i32::MAX),
            function_id: *function,
            start_nanos: nanos_since_anchor(&self.header, call.start_ticks),
            // As in the other tables: the rounded length, not the distance of rounded ends.
            duration_nanos: self.header.nanos(call.end_ticks.saturating_sub(call.start_ticks)),
            self_nanos: call.self_nanos.unwrap_or(0),
            ending: call.ending().to_owned(),
        });
        if self.rows.len() < ROWS {
            return Ok(());
        }
        self.out.write(&self.rows)?;
        self.rows.clear();
        Ok(())
    }
}
