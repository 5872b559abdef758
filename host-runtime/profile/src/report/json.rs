//! The report as JSON, with exact nanoseconds.

use crate::reading::profile::Profile;
use crate::sampled::accuracy::Accuracy;
use crate::symbols::is_stand_in;
use crate::time::histogram::Histograms;
use crate::tree::flat::{self, FlatProfile, Row};
use crate::unit::Unit;
use kperf_abi::FuncId;
use kperf_trace::{ClockInfo, HostInfo, ProbeCost, Wait};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The percentiles in a report: the name of each, and the part of the calls that took no longer.
pub const PERCENTILES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

/// A function's percentiles in nanoseconds, in the order of [`PERCENTILES`].
pub fn percentiles(profile: &Profile, histograms: &Histograms, func: FuncId) -> [u64; PERCENTILES.len()] {
    let of = |fraction| histograms.get(func).map_or(0, |histogram| histogram.percentile(fraction));
    PERCENTILES.map(|(_, fraction)| profile.header.nanos(of(fraction)))
}

#[derive(Serialize)]
struct Report<'a> {
    clock: &'a ClockInfo,
    probe_cost: &'a Option<ProbeCost>,
    compensated: bool,
    host: &'a HostInfo,
    command: &'a [String],
    outcome: Option<&'a str>,
    wall_nanos: u64,
    self_nanos: u64,
    /// The part of the self time that functions of the host took, as far as these have probes.
    host_nanos: u64,
    /// The times that are part of totals and of no self time: see [`FlatProfile`].
    #[serde(skip_serializing_if = "is_zero")]
    recorder_nanos: u64,
    #[serde(skip_serializing_if = "is_zero")]
    processor_wait_nanos: u64,
    /// The part of it whose place is a guess.
    #[serde(skip_serializing_if = "is_zero")]
    estimated_wait_nanos: u64,
    #[serde(skip_serializing_if = "is_zero")]
    own_wait_nanos: u64,
    /// `null` if no run with probes has ended; so are all numbers of calls.
    calls: Option<u64>,
    /// How many runs the figures are means of, if the program ran several times.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<usize>,
    /// How the times were sampled, if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampled>,
    /// How a ticker ticked, if the times are from one that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticks: Option<Ticks>,
    functions: Vec<Function<'a>>,
    lanes: Vec<Lane>,
    lost_events: u64,
    /// Calls over the limits of paths and frames: the function `[other]`.
    #[serde(skip_serializing_if = "is_zero")]
    other_calls: u64,
    /// Calls that didn't end by a leave, by what ended them.
    cut_short: BTreeMap<&'static str, u64>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Sampled {
    period_nanos: u64,
    /// 0 if no calls are in the trace one by one.
    span_min_nanos: u64,
    spans: u64,
    samples: u64,
    /// The number of equal samples with the same error.
    effective_samples: f64,
    torn: u64,
    cut: u64,
    busy_nanos: u64,
    idle_nanos: u64,
}

#[derive(Serialize)]
struct Ticks {
    count: u64,
    /// The time between two ticks as one meets it by chance; `null` if there was none.
    resolution_nanos: f64,
    /// The number of equally distant ticks with the same error.
    effective_samples: f64,
}

#[derive(Serialize)]
struct Function<'a> {
    /// `null` for `[lost]`, `[other]` and the like.
    id: Option<u32>,
    name: &'a str,
    calls: Option<u64>,
    /// Whether its calls were counted only. Then its times are `null`, and part of its callers' times.
    #[serde(skip_serializing_if = "is_false")]
    counted: bool,
    total_nanos: Option<u64>,
    self_nanos: Option<u64>,
    share: Option<f64>,
    /// How far the share may be off, with 95 % confidence, if it rests on samples or ticks.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_error: Option<f64>,
    average_nanos: Option<f64>,
    /// `null` if calls were not timed one by one; so is the next.
    min_nanos: Option<u64>,
    max_nanos: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentiles_nanos: Option<BTreeMap<&'static str, u64>>,
    /// `null` if calls were counted and sampled: so is the next.
    unwound: Option<u64>,
    unfinished: Option<u64>,
    callers: Vec<Caller<'a>>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Serialize)]
struct Caller<'a> {
    /// `null` for the host.
    id: Option<u32>,
    name: Cow<'a, str>,
    calls: Option<u64>,
}

#[derive(Serialize)]
struct Lane {
    id: String,
    calls: u64,
}

/// Writes the report as one JSON object. Times are whole nanoseconds but for the mean; where instructions are the clock the keys
/// say so (`self_instructions`).
pub fn write_json(
    profile: &Profile,
    flat: &FlatProfile,
    rows: &[&Row],
    histograms: Option<&Histograms>,
    compensated: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let cost = profile.header.probe_cost.as_ref().filter(|_| compensated);
    let accuracy = Accuracy::of(profile, flat.self_nanos).compensated(cost);
    let report = Report {
        clock: &profile.header.clock,
        probe_cost: &profile.header.probe_cost,
        compensated,
        host: &profile.header.host,
        command: &profile.header.command,
        outcome: profile.health.outcome(),
        wall_nanos: profile.wall_nanos(),
        self_nanos: flat.self_nanos.round() as u64,
        host_nanos: flat.host_nanos(&profile.symbols).unwrap_or(0.0).round() as u64,
        recorder_nanos: flat.recorder_nanos.round() as u64,
        processor_wait_nanos: flat.processor_nanos.round() as u64,
        estimated_wait_nanos: profile.header.nanos(profile.health.counts.waited[Wait::Estimated as usize]),
        own_wait_nanos: flat.waiting_nanos.round() as u64,
        calls: accuracy.count(profile.calls()),
        runs: profile.runs().map(<[_]>::len),
        sampling: profile.sampling().filter(|sampling| !sampling.is_counted()).map(|sampling| Sampled {
            period_nanos: sampling.period_nanos,
            span_min_nanos: sampling.span_min_nanos,
            spans: profile.health.counts.spans,
            samples: sampling.samples,
            effective_samples: sampling.effective_samples(),
            torn: sampling.torn,
            cut: sampling.cut,
            busy_nanos: profile.header.nanos(sampling.busy_ticks),
            idle_nanos: profile.header.nanos(sampling.idle_ticks),
        }),
        ticks: profile.ticks().map(|ticks| Ticks {
            count: ticks.count,
            resolution_nanos: ticks.resolution_nanos(),
            effective_samples: ticks.effective_samples(flat.self_nanos),
        }),
        functions: rows.iter().map(|row| function_json(profile, row, &accuracy, histograms)).collect(),
        lanes: profile.lanes.iter().map(|lane| Lane { id: lane.id.to_string(), calls: lane.calls }).collect(),
        lost_events: profile.health.lost_events(),
        other_calls: profile.health.over_limit.calls(),
        cut_short: profile.health.cut_short().into_iter().collect(),
        warnings: profile.health.warnings(),
    };
    match Unit::of(&profile.header) {
        Unit::Time => serde_json::to_writer_pretty(&mut *out, &report)?,
        unit => serde_json::to_writer_pretty(&mut *out, &in_unit(serde_json::to_value(&report)?, unit))?,
    }
    writeln!(out)
}

/// The same with keys that say what the figures are in.
fn in_unit(report: Value, unit: Unit) -> Value {
    match report {
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (unit.key(&key), in_unit(value, unit))).collect()
        }
        Value::Array(items) => items.into_iter().map(|item| in_unit(item, unit)).collect(),
        other => other,
    }
}

fn function_json<'a>(
    profile: &'a Profile,
    row: &'a Row,
    accuracy: &Accuracy,
    histograms: Option<&Histograms>,
) -> Function<'a> {
    let caller = |caller: &flat::Caller| Caller {
        id: id_of(caller.func),
        name: profile.symbols.name(caller.func),
        calls: accuracy.count(caller.calls),
    };
    let known = |nanos: f64| (!row.is_counted).then(|| nanos.round() as u64);
    let timed = |nanos: f64| known(nanos).filter(|_| profile.sampling().is_none());
    Function {
        id: id_of(row.func),
        name: &row.name,
        calls: accuracy.count(row.calls),
        counted: row.is_counted,
        total_nanos: known(row.total_nanos),
        self_nanos: known(row.self_nanos),
        share: (!row.is_counted).then_some(row.share),
        share_error: accuracy.share_error(row.func, row.share, row.calls).filter(|_| !row.is_counted),
        average_nanos: accuracy.count(row.calls).filter(|_| !row.is_counted).map(|_| row.average_nanos),
        min_nanos: timed(row.min_nanos),
        max_nanos: timed(row.max_nanos),
        percentiles_nanos: histograms.filter(|_| !row.is_counted).map(|histograms| {
            let names = PERCENTILES.map(|(name, _)| name);
            names.into_iter().zip(percentiles(profile, histograms, row.func)).collect()
        }),
        unwound: profile.sampling().is_none().then_some(row.unwound),
        unfinished: profile.sampling().is_none().then_some(row.unfinished),
        callers: row.callers.iter().map(caller).collect(),
    }
}

/// The id of a function; `None` for [`HOST`](crate::HOST), [`OTHER`](crate::OTHER) and the like.
pub fn id_of(func: FuncId) -> Option<u32> {
    (!is_stand_in(func)).then_some(func.0)
}
