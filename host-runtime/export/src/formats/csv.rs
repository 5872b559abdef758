//! A line per call, as CSV (RFC 4180), for DuckDB, ClickHouse, Spark and the like.
//!
//! ```text
//! id,parent,lane,depth,function,name,start_nanos,duration_nanos,self_nanos,ending
//! 3,2,0,2,7,"life::step",1000,5000,2000,leave
//! ```
//!
//! A call is written when it ends, so inner calls come before outer ones. `id` counts calls from 1, `parent` is 0 for a
//! call of the host, `function` is empty for a call with a lost enter, and for `[other]`: calls over the limits. Times
//! count from the trace's beginning, as in [`Range`](kperf_profile::Range). `self_nanos` is empty for the slow calls of a
//! profile: not all of their calls are known. `ending` is `leave`, or how else the call ended: `unwound`, `trap`, `exit`,
//! `lost`, `cut off`. It is `counted` if the call was only counted: then its length is unknown, and the line has none.
//! Where instructions are the clock the columns say so: `start_instructions`, and so on.

use crate::names::Names;
use kperf_profile::{CallFilter, CallSink, Exported, ListedCall, Symbols, Unit, is_stand_in, list_calls};
use kperf_trace::TraceReader;
use std::io::{self, Read, Write};

/// Writes the calls of a trace that a filter lets through, while it is read.
///
/// Fails where reading or writing does; `progress` gets the number of bytes read.
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

/// Every name is quoted: readers that look at the first rows only must learn that names may be.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
