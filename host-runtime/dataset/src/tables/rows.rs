//! The rows of the tables. The columns are described in DATASET.md.

use crate::tables::table::{Cells, TableRow, Taken};

/// A run: one trace.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "DATASET.md describes the columns")]
pub struct RunRow {
    pub run_id: i64,
    pub generation: i32,
    pub name: String,
    /// Microseconds since 1970-01-01 00:00 UTC.
    pub start: i64,
    pub duration_nanos: u64,
    pub version: String,
    pub module: String,
    pub module_sha256: String,
    pub host: String,
    pub runtime: String,
    pub os: String,
    pub arch: String,
    pub command: String,
    pub kind: String,
    pub clock: String,
    pub clock_source: String,
    pub unit: String,
    pub resolution_nanos: f64,
    pub outcome: String,
    pub complete: bool,
    pub calls: u64,
    pub self_nanos: u64,
    pub cpu_nanos: Option<i64>,
    pub lost_events: u64,
    pub problems: u64,
    pub stall_nanos: u64,
    pub windows: u64,
    pub effective_samples: Option<f64>,
    pub probe_nanos: Option<f64>,
    pub uncounted_durations: u64,
    pub trace_bytes: u64,
    pub attributes: String,
    pub kperf_version: String,
}

impl TableRow for RunRow {
    const NAME: &'static str = "runs";
    const SCHEMA: &'static str = "message runs {
        required int64 run_id;
        required int32 generation;
        required binary name (UTF8);
        required int64 start (TIMESTAMP(MICROS,true));
        required int64 duration_nanos;
        required binary version (UTF8);
        required binary module (UTF8);
        required binary module_sha256 (UTF8);
        required binary host (UTF8);
        required binary runtime (UTF8);
        required binary os (UTF8);
        required binary arch (UTF8);
        required binary command (UTF8);
        required binary kind (UTF8);
        required binary clock (UTF8);
        required binary clock_source (UTF8);
        required binary unit (UTF8);
        required double resolution_nanos;
        required binary outcome (UTF8);
        required boolean complete;
        required int64 calls;
        required int64 self_nanos;
        optional int64 cpu_nanos;
        required int64 lost_events;
        required int64 problems;
        required int64 stall_nanos;
        required int64 windows;
        optional double effective_samples;
        optional double probe_nanos;
        required int64 uncounted_durations;
        required int64 trace_bytes;
        required binary attributes (UTF8);
        required binary kperf_version (UTF8);
    }";

    fn put(&self, cells: &mut Cells) {
        cells.long(self.run_id);
        cells.int(self.generation);
        cells.text(&self.name);
        cells.long(self.start);
        cells.count(self.duration_nanos);
        for text in [&self.version, &self.module, &self.module_sha256, &self.host, &self.runtime] {
            cells.text(text);
        }
        for text in
            [&self.os, &self.arch, &self.command, &self.kind, &self.clock, &self.clock_source, &self.unit]
        {
            cells.text(text);
        }
        cells.double(self.resolution_nanos);
        cells.text(&self.outcome);
        cells.flag(self.complete);
        cells.count(self.calls);
        cells.count(self.self_nanos);
        cells.optional_long(self.cpu_nanos);
        for count in [self.lost_events, self.problems, self.stall_nanos, self.windows] {
            cells.count(count);
        }
        cells.optional_double(self.effective_samples);
        cells.optional_double(self.probe_nanos);
        cells.count(self.uncounted_durations);
        cells.count(self.trace_bytes);
        cells.text(&self.attributes);
        cells.text(&self.kperf_version);
    }

    fn get(cells: &mut Taken<'_>) -> RunRow {
        // Fields are in this order.
        RunRow {
            run_id: cells.long(),
            generation: cells.int(),
            name: cells.text(),
            start: cells.long(),
            duration_nanos: cells.count(),
            version: cells.text(),
            module: cells.text(),
            module_sha256: cells.text(),
            host: cells.text(),
            runtime: cells.text(),
            os: cells.text(),
            arch: cells.text(),
            command: cells.text(),
            kind: cells.text(),
            clock: cells.text(),
            clock_source: cells.text(),
            unit: cells.text(),
            resolution_nanos: cells.double(),
            outcome: cells.text(),
            complete: cells.flag(),
            calls: cells.count(),
            self_nanos: cells.count(),
            cpu_nanos: cells.optional_long(),
            lost_events: cells.count(),
            problems: cells.count(),
            stall_nanos: cells.count(),
            windows: cells.count(),
            effective_samples: cells.optional_double(),
            probe_nanos: cells.optional_double(),
            uncounted_durations: cells.count(),
            trace_bytes: cells.count(),
            attributes: cells.text(),
            kperf_version: cells.text(),
        }
    }
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "DATASET.md describes the columns")]
pub struct FunctionRow {
    pub function_id: i64,
    pub name: String,
    pub module: String,
    pub file: Option<String>,
    pub line: Option<i64>,
    pub imported: bool,
    pub counted: bool,
}

impl TableRow for FunctionRow {
    const NAME: &'static str = "functions";
    const SCHEMA: &'static str = "message functions {
        required int64 function_id;
        required binary name (UTF8);
        required binary module (UTF8);
        optional binary file (UTF8);
        optional int64 line;
        required boolean imported;
        required boolean counted;
    }";

    fn put(&self, cells: &mut Cells) {
        cells.long(self.function_id);
        cells.text(&self.name);
        cells.text(&self.module);
        cells.optional_text(self.file.as_deref());
        cells.optional_long(self.line);
        cells.flag(self.imported);
        cells.flag(self.counted);
    }

    fn get(cells: &mut Taken<'_>) -> FunctionRow {
        FunctionRow {
            function_id: cells.long(),
            name: cells.text(),
            module: cells.text(),
            file: cells.optional_text(),
            line: cells.optional_long(),
            imported: cells.flag(),
            counted: cells.flag(),
        }
    }
}

/// A path of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "DATASET.md describes the columns")]
pub struct PathRow {
    pub path_id: i64,
    pub parent_id: i64,
    pub function_id: i64,
    pub depth: i32,
    pub outermost: bool,
}

impl TableRow for PathRow {
    const NAME: &'static str = "paths";
    const SCHEMA: &'static str = "message paths {
        required int64 path_id;
        required int64 parent_id;
        required int64 function_id;
        required int32 depth;
        required boolean outermost;
    }";

    fn put(&self, cells: &mut Cells) {
        cells.long(self.path_id);
        cells.long(self.parent_id);
        cells.long(self.function_id);
        cells.int(self.depth);
        cells.flag(self.outermost);
    }

    fn get(cells: &mut Taken<'_>) -> PathRow {
        PathRow {
            path_id: cells.long(),
            parent_id: cells.long(),
            function_id: cells.long(),
            depth: cells.int(),
            outermost: cells.flag(),
        }
    }
}

/// What a path did in a window of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "DATASET.md describes the columns")]
pub struct StatRow {
    pub run_id: i64,
    pub generation: i32,
    pub window: i64,
    pub path_id: i64,
    pub function_id: i64,
    pub outermost: bool,
    pub calls: u64,
    pub self_nanos: u64,
    pub total_nanos: u64,
    pub min_nanos: u64,
    pub max_nanos: u64,
    pub unwound: u64,
    pub unfinished: u64,
    pub buckets: Vec<i32>,
    pub counts: Vec<i64>,
}

impl TableRow for StatRow {
    const NAME: &'static str = "stats";
    const SCHEMA: &'static str = "message stats {
        required int64 run_id;
        required int32 generation;
        required int64 window;
        required int64 path_id;
        required int64 function_id;
        required boolean outermost;
        required int64 calls;
        required int64 self_nanos;
        required int64 total_nanos;
        required int64 min_nanos;
        required int64 max_nanos;
        required int64 unwound;
        required int64 unfinished;
        required group buckets (LIST) { repeated group list { required int32 element; } }
        required group counts (LIST) { repeated group list { required int64 element; } }
    }";

    fn put(&self, cells: &mut Cells) {
        cells.long(self.run_id);
        cells.int(self.generation);
        cells.long(self.window);
        cells.long(self.path_id);
        cells.long(self.function_id);
        cells.flag(self.outermost);
        for count in [self.calls, self.self_nanos, self.total_nanos, self.min_nanos, self.max_nanos] {
            cells.count(count);
        }
        cells.count(self.unwound);
        cells.count(self.unfinished);
        cells.ints(&self.buckets);
        cells.longs(&self.counts);
    }

    fn get(cells: &mut Taken<'_>) -> StatRow {
        StatRow {
            run_id: cells.long(),
            generation: cells.int(),
            window: cells.long(),
            path_id: cells.long(),
            function_id: cells.long(),
            outermost: cells.flag(),
            calls: cells.count(),
            self_nanos: cells.count(),
            total_nanos: cells.count(),
            min_nanos: cells.count(),
            max_nanos: cells.count(),
            unwound: cells.count(),
            unfinished: cells.count(),
            buckets: cells.ints(),
            counts: cells.longs(),
        }
    }
}

/// A slow call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "DATASET.md describes the columns")]
pub struct SpanRow {
    pub run_id: i64,
    pub generation: i32,
    pub function_id: i64,
    pub path_id: Option<i64>,
    pub lane: String,
    pub depth: i32,
    /// Microseconds since 1970-01-01 00:00 UTC.
    pub start: i64,
    pub duration_nanos: u64,
    pub ending: String,
}

impl TableRow for SpanRow {
    const NAME: &'static str = "spans";
    const SCHEMA: &'static str = "message spans {
        required int64 run_id;
        required int32 generation;
        required int64 function_id;
        optional int64 path_id;
        required binary lane (UTF8);
        required int32 depth;
        required int64 start (TIMESTAMP(MICROS,true));
        required int64 duration_nanos;
        required binary ending (UTF8);
    }";

    fn put(&self, cells: &mut Cells) {
        cells.long(self.run_id);
        cells.int(self.generation);
        cells.long(self.function_id);
        cells.optional_long(self.path_id);
        cells.text(&self.lane);
        cells.int(self.depth);
        cells.long(self.start);
        cells.count(self.duration_nanos);
        cells.text(&self.ending);
    }

    fn get(cells: &mut Taken<'_>) -> SpanRow {
        SpanRow {
            run_id: cells.long(),
            generation: cells.int(),
            function_id: cells.long(),
            path_id: cells.optional_long(),
            lane: cells.text(),
            depth: cells.int(),
            start: cells.long(),
            duration_nanos: cells.count(),
            ending: cells.text(),
        }
    }
}

/// One call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "DATASET.md describes the columns")]
pub struct CallRow {
    pub run_id: i64,
    pub call: u64,
    pub parent: u64,
    pub lane: String,
    pub depth: i32,
    pub function_id: i64,
    pub start_nanos: u64,
    pub duration_nanos: u64,
    pub self_nanos: u64,
    pub ending: String,
}

impl TableRow for CallRow {
    const NAME: &'static str = "calls";
    const SCHEMA: &'static str = "message calls {
        required int64 run_id;
        required int64 call;
        required int64 parent;
        required binary lane (UTF8);
        required int32 depth;
        required int64 function_id;
        required int64 start_nanos;
        required int64 duration_nanos;
        required int64 self_nanos;
        required binary ending (UTF8);
    }";

    fn put(&self, cells: &mut Cells) {
        cells.long(self.run_id);
        cells.count(self.call);
        cells.count(self.parent);
        cells.text(&self.lane);
        cells.int(self.depth);
        cells.long(self.function_id);
        for count in [self.start_nanos, self.duration_nanos, self.self_nanos] {
            cells.count(count);
        }
        cells.text(&self.ending);
    }

    fn get(cells: &mut Taken<'_>) -> CallRow {
        CallRow {
            run_id: cells.long(),
            call: cells.count(),
            parent: cells.count(),
            lane: cells.text(),
            depth: cells.int(),
            function_id: cells.long(),
            start_nanos: cells.count(),
            duration_nanos: cells.count(),
            self_nanos: cells.count(),
            ending: cells.text(),
        }
    }
}
