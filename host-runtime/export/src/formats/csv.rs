//! A line per call, as CSV (RFC 4180), for DuckDB, ClickHouse, Spark and the like.
//!
//! ```text
//! id,parent,lane,depth,function,name,start_nanos,duration_nanos,self_nanos,ending
//! 3,2,0,2,7,"life::step",1000,5000,2000,leave
//! ```
//!
//! A call is written when it ends, so inner calls come before outer ones. `id` counts calls from 1. `parent` is 0 for a
//! call of the host. `function` is empty for a call with a lost enter, and for `[other]`: calls over the limits. Times
//! count from the trace's beginning, as in [`Range`](kperf_profile::Range). `self_nanos` is empty for the slow calls of a
//! profile, since their callees are not all known. `ending` is `leave`, `unwound`, `trap`, `exit`, `lost` or `cut off`.
//! It is `counted` for a call of a function that is only counted: the line then has no duration.
//! If the clock counts instructions, the columns are `start_instructions` and so on.

use crate::names::Names;
use kperf_profile::{CallFilter, CallSink, Exported, ListedCall, Symbols, Unit, is_stand_in, list_calls};
use kperf_trace::TraceReader;
use std::io::{self, Read, Write};

/// Writes the calls of a trace that a filter lets through, while it is read.
///
/// Fails if reading or writing fails. `progress` gets the number of bytes read.
pub fn write<R: Read, W: Write>(
    reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    mut out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    let columns = "id,parent,lane,depth,function,name,start_nanos,duration_nanos,self_nanos,ending";
    writeln!(out, "{}", Unit::of(reader.header()).key(columns))?;
    let lines = Lines { out, names: Names::new(quoted) };
    let (mut lines, exported) = list_calls(reader, filter, lines, &mut progress)?;
    lines.out.flush()?;
    Ok(exported)
}

struct Lines<W> {
    out: W,
    names: Names,
}

impl<W: Write> CallSink for Lines<W> {
    fn call(&mut self, symbols: &Symbols, call: &ListedCall) -> io::Result<()> {
        let ListedCall { id, parent, lane, depth, func, start_nanos, duration_nanos, self_nanos, .. } = *call;
        write!(self.out, "{id},{parent},{lane},{depth},")?;
        if !is_stand_in(func) {
            write!(self.out, "{}", func.0)?;
        }
        let ending = call.ending();
        let (name, self_time) =
            (self.names.get(symbols, func), self_nanos.map(|self_time| self_time.to_string()));
        let self_time = self_time.unwrap_or_default();
        writeln!(self.out, ",{name},{start_nanos},{duration_nanos},{self_time},{ending}")
    }
}

/// Every name is quoted: some readers look only at the first rows to find out whether names may be quoted.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
