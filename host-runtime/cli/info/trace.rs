//! The description of a trace.

use super::Lines;
use crate::shared::table::{fine_text, grouped, host_text, plural};
use kperf_abi::symbols::ModuleIdentity;
use kperf_profile::{Profile, Unit, clock_text, nanos_text, printable, sampling_text};
use kperf_trace::{ClockKind, FuncId, Header, Kept, Preempted, StallTotal, TickTotal, Waits};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

/// The description of a trace.
#[derive(Debug, Serialize)]
pub struct Trace {
    bytes: u64,
    #[serde(flatten)]
    header: Header,
    #[serde(skip)]
    clock_text: String,
    /// The number and the gaps of the ticks, if the trace has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticks: Option<TickTotal>,
    /// When the first lane began, in nanoseconds since 1970.
    began_unix_nanos: u64,
    began_utc: String,
    wall_nanos: u64,
    /// Processor time of all threads of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_nanos: Option<u64>,
    /// Time that other processes took from the guests' threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    preempted: Option<Preempted>,
    /// Whether the trace has that as waits; `None` if it doesn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Waits>,
    outcome: Option<String>,
    #[serde(skip)]
    is_whole: bool,
    events: u64,
    calls: u64,
    /// How many of the calls are slow calls of a profile.
    #[serde(skip_serializing_if = "is_zero")]
    spans: u64,
    /// How a profile was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<String>,
    leaves: u64,
    unwinds: u64,
    marks: u64,
    cut_short: BTreeMap<&'static str, u64>,
    bytes_per_call: f64,
    lost_events: u64,
    gaps: u64,
    ticker_stalls: StallTotal,
    writer_stalls: StallTotal,
    lanes: Vec<Lane>,
    symbols: Vec<Table>,
    warnings: Vec<String>,
    /// If a flight recorder wrote it: all calls since the recording began.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<SinceBegun>,
}

/// The calls since a flight recorder began.
#[derive(Debug, Serialize)]
struct SinceBegun {
    why: String,
    calls: u64,
    /// Of calls that are not counted.
    lost_events: u64,
    /// Those with most calls come first.
    functions: Vec<Called>,
}

#[derive(Debug, Serialize)]
struct Called {
    function: String,
    id: u32,
    calls: u64,
}

#[derive(Debug, Serialize)]
struct Lane {
    id: String,
    calls: u64,
    nanos: u64,
}

#[derive(Debug, Serialize)]
struct Table {
    functions: usize,
    /// How many of the functions are counted only.
    #[serde(skip_serializing_if = "is_none")]
    counted_functions: usize,
    first_id: u32,
    end_id: u32,
    module: ModuleIdentity,
}

/// Describes a trace. `kept`: what it says of the calls before it.
pub fn describe(profile: &Profile, kept: Option<Kept>) -> Trace {
    let Profile { header, health, .. } = profile;
    let counts = health.counts;
    let began_unix_nanos = header.unix_nanos(profile.start_ticks);
    let began = UNIX_EPOCH.checked_add(Duration::from_nanos(began_unix_nanos)).unwrap_or(UNIX_EPOCH);
    let lanes = profile.lanes.iter().map(|lane| Lane {
        id: lane.id.to_string(),
        calls: lane.calls,
        nanos: header.nanos(lane.end_ticks.saturating_sub(lane.start_ticks)),
    });
    let symbols = profile.symbols.tables().iter().map(|table| Table {
        functions: table.symbols.len(),
        counted_functions: table.symbols.iter().filter(|symbol| symbol.counted).count(),
        first_id: table.id_base,
        end_id: table.id_end(),
        module: table.module.clone(),
    });
    Trace {
        bytes: profile.bytes,
        header: header.clone(),
        clock_text: clock_text(header, profile.ticks()),
        ticks: profile.ticks().copied(),
        began_unix_nanos,
        began_utc: humantime::format_rfc3339_nanos(began).to_string(),
        wall_nanos: profile.wall_nanos(),
        cpu_nanos: health.summary.as_ref().and_then(|summary| summary.cpu_nanos),
        preempted: health.summary.as_ref().and_then(|summary| summary.preempted),
        waits: health.summary.as_ref().map(|summary| summary.waits).filter(|waits| *waits != Waits::Unknown),
        outcome: health.outcome().map(str::to_owned),
        is_whole: health.summary.is_some(),
        events: counts.events(),
        calls: profile.calls(),
        spans: counts.spans,
        sampling: profile.sampling().map(|sampling| sampling_text(profile, sampling)),
        leaves: counts.leaves,
        unwinds: counts.unwinds,
        marks: counts.marks,
        cut_short: health.cut_short().into_iter().collect(),
        bytes_per_call: profile.bytes as f64 / profile.calls().max(1) as f64,
        lost_events: health.lost_events(),
        gaps: counts.gaps,
        ticker_stalls: health.stalls.ticker,
        writer_stalls: health.stalls.writer,
        lanes: lanes.collect(),
        symbols: symbols.collect(),
        warnings: health.warnings(),
        kept: kept.map(|kept| since_begun(profile, kept)),
    }
}

fn since_begun(profile: &Profile, kept: Kept) -> SinceBegun {
    let mut functions: Vec<Called> = kept
        .calls
        .into_iter()
        .map(|(id, calls)| Called { function: profile.symbols.label(FuncId(id)), id, calls })
        .collect();
    functions.sort_by_key(|called| (Reverse(called.calls), called.id));
    let calls = functions.iter().fold(0u64, |sum, called| sum.saturating_add(called.calls));
    SinceBegun { why: kept.why, calls, lost_events: kept.lost_events, functions }
}

fn is_none(number: &usize) -> bool {
    *number == 0
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// More functions than this are only in the JSON.
const FUNCTIONS: usize = 10;
/// More lanes than this are only counted.
const LANES: usize = 16;

/// The description for people.
pub fn text(trace: &Trace) -> String {
    let mut lines = Lines::default();
    let (header, outcome) = (&trace.header, trace.outcome.as_deref().unwrap_or("unknown"));
    lines.add("trace", format_args!("{} bytes, {:.2} a call", grouped(trace.bytes), trace.bytes_per_call));
    let command: Vec<_> = header.command.iter().map(|word| printable(word)).collect();
    lines.add("command", if command.is_empty() { "unknown".to_owned() } else { command.join(" ") });
    let process = if header.host.pid == 0 { String::new() } else { format!(", process {}", header.host.pid) };
    lines.add("host", format_args!("{}{process}", host_text(header)));
    lines.add("clock", &trace.clock_text);
    if header.clock.kind != ClockKind::Instructions {
        lines.add(
            "",
            format_args!("{} ticks a second", grouped(header.clock.ticks_per_second.round() as u64)),
        );
    }
    if let Some(cost) = &header.probe_cost {
        let (inside, outside) = (fine_text(cost.inside_nanos), fine_text(cost.outside_nanos));
        match header.clock.kind {
            ClockKind::Precise => {
                lines.add("probe cost", format_args!("{inside} within a call, {outside} to its caller"))
            }
            // With a ticker, the share of the cost inside the call is random, so only the sum is known.
            ClockKind::Ticker | ClockKind::Instructions => lines.add(
                "probe cost",
                format_args!("{} a call", fine_text(cost.inside_nanos + cost.outside_nanos)),
            ),
        }
    }
    lines.add("began", &trace.began_utc);
    let unit = Unit::of(header);
    lines.add("took", unit.text(trace.wall_nanos));
    if let Some(cpu) = trace.cpu_nanos {
        let processors = match unit {
            Unit::Time if trace.wall_nanos > 0 => {
                format!(": {:.1} processors", cpu as f64 / trace.wall_nanos as f64)
            }
            _ => String::new(),
        };
        lines.add("cpu", format_args!("{} in all threads of the host{processors}", nanos_text(cpu)));
    }
    if let Some(Preempted { count, nanos, .. }) = trace.preempted.filter(|preempted| preempted.nanos > 0) {
        let taken = plural(count, "time");
        lines.add(
            "preempted",
            format_args!(
                "other threads had the guest's processor {taken}, it waited for {}{}",
                nanos_text(nanos),
                match trace.waits {
                    Some(Waits::Exact) => ": in no self time",
                    Some(Waits::Estimated) => ": in no self time, its places are estimated",
                    Some(Waits::Unknown) | None => ", which self times may include",
                }
            ),
        );
    }
    lines.add("outcome", printable(outcome));
    let Trace { calls, leaves, unwinds, marks, .. } = *trace;
    if let Some(sampling) = &trace.sampling {
        lines.add("profile", format_args!("{}, {sampling}", plural(calls, "call")));
    }
    // A profile has enters only for its slow calls.
    let enters = if trace.sampling.is_some() { trace.spans } else { calls };
    let kinds = [(enters, "enter"), (leaves, "leave"), (unwinds, "unwind"), (marks, "mark")];
    let kinds: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|&(count, noun)| plural(count, noun)).collect();
    let kinds = if kinds.is_empty() {
        "none".to_owned()
    } else {
        format!("{}: {}", grouped(trace.events), kinds.join(", "))
    };
    lines.add("events", kinds);
    if !trace.cut_short.is_empty() {
        let reasons: Vec<String> =
            trace.cut_short.iter().map(|(reason, count)| format!("{} {reason}", grouped(*count))).collect();
        lines.add("cut short", reasons.join(", "));
    }
    lines
        .add("lost", format_args!("{} in {}", plural(trace.lost_events, "event"), plural(trace.gaps, "gap")));
    for (name, stalls) in [("clock stalls", trace.ticker_stalls), ("waits", trace.writer_stalls)] {
        lines.add(name, stalls_text(stalls, trace.is_whole));
    }
    lines.add("lanes", grouped(trace.lanes.len() as u64));
    for lane in trace.lanes.iter().take(LANES) {
        lines.add(
            "",
            format_args!("{}: {} in {}", lane.id, plural(lane.calls, "call"), unit.text(lane.nanos)),
        );
    }
    if let Some(SinceBegun { why, calls, functions, .. }) = &trace.kept {
        lines.add("kept", format_args!("the last events: {}", printable(why)));
        lines.add("", format_args!("{} since the recording began:", plural(*calls, "call")));
        for Called { function, calls, .. } in functions.iter().take(FUNCTIONS) {
            lines.add("", format_args!("{} of {}", grouped(*calls), printable(function)));
        }
        if let Some(more) = functions.len().checked_sub(FUNCTIONS).filter(|more| *more > 0) {
            lines.add(
                "",
                format_args!("and of {} (`--format json` has all)", plural(more as u64, "function")),
            );
        }
    }
    for table in &trace.symbols {
        let Table { functions, counted_functions, first_id, end_id, module } = table;
        let functions = plural(*functions as u64, "function") + &super::counted_text(*counted_functions);
        lines.add(
            "symbols",
            format_args!(
                "{}: {functions}, ids {first_id} to {}",
                printable(&module.name),
                end_id.saturating_sub(1)
            ),
        );
        lines.add("", format_args!("sha256 {}", printable(&module.sha256)));
        lines
            .add("", format_args!("rewriter {} {}", printable(&module.rewriter), printable(&module.options)));
    }
    lines.0
}

fn stalls_text(stalls: StallTotal, is_whole: bool) -> String {
    let StallTotal { count, nanos, longest_nanos } = stalls;
    match count {
        0 if !is_whole => "unknown: the recording was cut off".to_owned(),
        0 => "none".to_owned(),
        _ => {
            format!("{}, {} in all, {} at most", grouped(count), nanos_text(nanos), nanos_text(longest_nanos))
        }
    }
}
