//! The rows of the tables. The columns are described in DATASET.md.

use crate::tables::cell::{self, Cell, Value};
use crate::tables::table::TableRow;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::record::Field;
use std::io::Write;

/// Microseconds since 1970-01-01 00:00 UTC.
const TIME: &str = "required int64 NAME (TIMESTAMP(MICROS,true));";

/// A row whose fields are the table's columns. After `as` is a column of another logical type than its field's.
macro_rules! row {
    ($(#[$doc:meta])* $row:ident, $table:literal, { $($field:ident: $type:ty $(as $column:ident)?,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[allow(missing_docs, reason = "DATASET.md describes the columns")]
        pub struct $row {
            $(pub $field: $type,)*
        }

        impl TableRow for $row {
            const NAME: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$(stringify!($field),)*];

            fn schema() -> String {
                let mut schema = String::from(concat!("message ", $table, " {"));
                $(
                    let column = <$type as Cell>::COLUMN;
                    $(let _ = column; let column = $column;)?
                    schema += &column.replace("NAME", stringify!($field));
                )*
                schema + "}"
            }

            fn write(
                rows: &[$row],
                group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
            ) -> Result<(), ParquetError> {
                $(cell::write(group, rows.iter().map(|row| &row.$field))?;)*
                Ok(())
            }

            fn take<'a>(mut fields: impl Iterator<Item = &'a Field>) -> $row {
                $row { $($field: Cell::take(fields.next()),)* }
            }

            fn value(&self, column: &str) -> Value {
                match column {
                    $(column if column == stringify!($field) => self.$field.value(),)*
                    _ => Value::Missing,
                }
            }
        }
    };
}

row! {
    /// A run: one trace.
    RunRow, "runs", {
        run_id: i64,
        generation: i32,
        name: String,
        start: i64 as TIME,
        duration_nanos: u64,
        version: String,
        module: String,
        module_sha256: String,
        host: String,
        runtime: String,
        os: String,
        arch: String,
        command: String,
        kind: String,
        clock: String,
        clock_source: String,
        unit: String,
        resolution_nanos: f64,
        outcome: String,
        complete: bool,
        calls: u64,
        self_nanos: u64,
        cpu_nanos: Option<i64>,
        lost_events: u64,
        problems: u64,
        stall_nanos: u64,
        windows: u64,
        effective_samples: Option<f64>,
        probe_nanos: Option<f64>,
        uncounted_durations: u64,
        trace_bytes: u64,
        attributes: String,
        kperf_version: String,
    }
}

row! {
    /// A function.
    FunctionRow, "functions", {
        function_id: i64,
        name: String,
        module: String,
        file: Option<String>,
        line: Option<i64>,
        imported: bool,
        counted: bool,
    }
}

row! {
    /// A path of calls.
    #[derive(Copy)]
    PathRow, "paths", {
        path_id: i64,
        parent_id: i64,
        function_id: i64,
        depth: i32,
        outermost: bool,
    }
}

row! {
    /// The figures of a path in a window of a run.
    StatRow, "stats", {
        run_id: i64,
        generation: i32,
        window: i64,
        path_id: i64,
        function_id: i64,
        outermost: bool,
        calls: u64,
        self_nanos: u64,
        total_nanos: u64,
        min_nanos: u64,
        max_nanos: u64,
        unwound: u64,
        unfinished: u64,
        buckets: Vec<i32>,
        counts: Vec<i64>,
    }
}

row! {
    /// A slow call.
    SpanRow, "spans", {
        run_id: i64,
        generation: i32,
        function_id: i64,
        path_id: Option<i64>,
        lane: String,
        depth: i32,
        start: i64 as TIME,
        duration_nanos: u64,
        ending: String,
    }
}

row! {
    /// One call.
    CallRow, "calls", {
        run_id: i64,
        call: u64,
        parent: u64,
        lane: String,
        depth: i32,
        function_id: i64,
        start_nanos: u64,
        duration_nanos: u64,
        self_nanos: u64,
        ending: String,
    }
}
