//! The report as JSON, with exact nanoseconds.

use crate::{FlatProfile, HOST, Histograms, LOST, Profile, Row, UNSEEN};
use kperf_abi::FuncId;
use kperf_trace::{ClockInfo, HostInfo, ProbeCost};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Those that are told: what they are called, and which part of the calls they are not exceeded by.
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
    /// The part of it that the host's functions took, as far as they have probes.
    host_nanos: u64,
    calls: u64,
    /// How the times were sampled, if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampled>,
    functions: Vec<Function<'a>>,
    lanes: Vec<Lane>,
    lost_events: u64,
    /// Calls that didn't end by a leave, by what ended them.
    cut_short: BTreeMap<&'static str, u64>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Sampled {
    period_nanos: u64,
    /// 0 if no calls are told one by one.
    span_min_nanos: u64,
    spans: u64,
    samples: u64,
    /// So many of equal weight would tell as much.
    effective_samples: f64,
    torn: u64,
    cut: u64,
    busy_nanos: u64,
    idle_nanos: u64,
}

#[derive(Serialize)]
struct Function<'a> {
    /// `null` for calls whose enter was lost.
    id: Option<u32>,
    name: &'a str,
    calls: u64,
    /// Whether its calls were counted only. Its times are `null` then; they are in those of its callers.
    #[serde(skip_serializing_if = "is_false")]
    counted: bool,
    total_nanos: Option<u64>,
    self_nanos: Option<u64>,
    share: Option<f64>,
    /// Half the width of the interval that the share lies in with 95 % confidence, if it was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_error: Option<f64>,
    average_nanos: Option<f64>,
    /// `null` if calls were not timed one by one; so is the next.
    min_nanos: Option<u64>,
    max_nanos: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentiles_nanos: Option<BTreeMap<&'static str, u64>>,
    unwound: u64,
    unfinished: u64,
    callers: Vec<Caller<'a>>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Serialize)]
struct Caller<'a> {
    /// `null` for the host.
    id: Option<u32>,
    name: Cow<'a, str>,
    calls: u64,
}

#[derive(Serialize)]
struct Lane {
    id: String,
    calls: u64,
}

/// Writes the report as one JSON object. Times are whole nanoseconds but for the mean.
pub fn write_json(
    profile: &Profile,
    flat: &FlatProfile,
    rows: &[&Row],
    histograms: Option<&Histograms>,
    compensated: bool,
    out: &mut impl Write,
) -> io::Result<()> {
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
        calls: profile.calls(),
        sampling: profile.sampling().map(|sampling| Sampled {
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
        functions: rows.iter().map(|row| function_json(profile, row, histograms)).collect(),
        lanes: profile.lanes.iter().map(|lane| Lane { id: lane.id.to_string(), calls: lane.calls }).collect(),
        lost_events: profile.health.lost_events(),
        cut_short: profile.health.cut_short().into_iter().collect(),
        warnings: profile.health.warnings(),
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)
}

fn function_json<'a>(profile: &'a Profile, row: &'a Row, histograms: Option<&Histograms>) -> Function<'a> {
    let caller = |caller: &crate::Caller| Caller {
        id: id_of(caller.func),
        name: profile.symbols.name(caller.func),
        calls: caller.calls,
    };
    let known = |nanos: f64| (!row.is_counted).then(|| nanos.round() as u64);
    let timed = |nanos: f64| known(nanos).filter(|_| profile.sampling().is_none());
    Function {
        id: id_of(row.func),
        name: &row.name,
        calls: row.calls,
        counted: row.is_counted,
        total_nanos: known(row.total_nanos),
        self_nanos: known(row.self_nanos),
        share: (!row.is_counted).then_some(row.share),
        share_error: profile.sampling().map(|sampling| sampling.error(row.share)),
        average_nanos: (!row.is_counted).then_some(row.average_nanos),
        min_nanos: timed(row.min_nanos),
        max_nanos: timed(row.max_nanos),
        percentiles_nanos: histograms.filter(|_| !row.is_counted).map(|histograms| {
            let names = PERCENTILES.map(|(name, _)| name);
            names.into_iter().zip(percentiles(profile, histograms, row.func)).collect()
        }),
        unwound: row.unwound,
        unfinished: row.unfinished,
        callers: row.callers.iter().map(caller).collect(),
    }
}

/// The id of a function; none for what only stands for one.
pub fn id_of(func: FuncId) -> Option<u32> {
    (![HOST, LOST, UNSEEN].contains(&func)).then_some(func.0)
}
