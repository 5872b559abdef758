//! The lines above a table: clock, host, time, calls.

use crate::reading::profile::Profile;
use crate::report::clock::times_text;
use crate::sampled::sampling::Sampling;
use crate::symbols::printable;
use crate::text::{grouped, nanos_text, plural};
use crate::tree::flat::{FlatProfile, Row};
use crate::unit::Unit;
use kperf_trace::{Header, Wait};
use std::io::{self, Write};

/// Writes the lines above a table: clock, host, time, calls.
pub fn write_head(
    profile: &Profile,
    flat: &FlatProfile,
    compensated: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let Profile { header, health, lanes, .. } = profile;
    let cost = match (&header.probe_cost, compensated) {
        (Some(cost), true) => {
            format!(", less {:.1} ns a call for the probes", cost.inside_nanos + cost.outside_nanos)
        }
        (Some(cost), false) => {
            format!(", probes cost {:.1} ns a call", cost.inside_nanos + cost.outside_nanos)
        }
        (None, _) => String::new(),
    };
    match profile.sampling() {
        Some(_) => writeln!(out, "# {}", times_text(profile))?,
        None => writeln!(out, "# {}{cost}", times_text(profile))?,
    }
    writeln!(out, "# host:  {}", host_text(header))?;
    let outcome = health.outcome().map(|outcome| format!(", {}", printable(outcome))).unwrap_or_default();
    let unit = Unit::of(header);
    // Several instances count side by side, so the longest count means nothing.
    let wall = match unit {
        Unit::Time => unit.text(profile.wall_nanos()),
        Unit::Instructions => unit.text(flat.self_nanos.max(0.0).round() as u64),
    };
    let pauses = pauses_text(profile, flat);
    writeln!(out, "# {} {wall}{pauses}{outcome}", if unit == Unit::Time { "wall: " } else { "count:" })?;
    if let Some(sampling) = profile.sampling().filter(|_| profile.runs().is_none()) {
        writeln!(out, "# seen:  {}", busy_text(profile, sampling))?;
    }
    // The host's functions execute no instructions of the guest's.
    if let Some(host) = flat.host_nanos(&profile.symbols).filter(|_| unit == Unit::Time) {
        let share = 100.0 * host / flat.self_nanos.max(f64::MIN_POSITIVE);
        let guest = unit.text((flat.self_nanos - host).max(0.0).round() as u64);
        writeln!(
            out,
            "# time:  {guest} in the guest, {} in the host's functions ({share:.1} %)",
            unit.text(host.round() as u64)
        )?;
    }
    let calls = if profile.has_counts() { grouped(profile.calls()) } else { "unknown".to_owned() };
    write!(
        out,
        "# calls: {calls} of {}, {}",
        plural(flat.rows.len() as u64, "function"),
        plural(lanes.len() as u64, "lane"),
    )?;
    let mut before = ", ";
    if profile.hidden_calls > 0 {
        write!(out, "; {} left out", grouped(profile.hidden_calls))?;
        before = "; of all ";
    }
    for (what, count) in health.cut_short() {
        write!(out, "{before}{} {what}", grouped(count))?;
        before = ", ";
    }
    writeln!(out)?;
    let counted: Vec<&Row> = flat.rows.iter().filter(|row| row.is_counted).collect();
    if !counted.is_empty() {
        let calls = grouped(counted.iter().map(|row| row.calls).sum());
        let functions = plural(counted.len() as u64, "function");
        writeln!(
            out,
            "# of which {calls} counted only, of {functions}: their time is part of their callers'"
        )?;
    }
    Ok(())
}

/// The times that are no function's. Less than a hundredth of all time is not shown.
fn pauses_text(profile: &Profile, flat: &FlatProfile) -> String {
    let unit = Unit::of(&profile.header);
    let estimated = profile.health.counts.waited[Wait::Estimated as usize];
    let guess = if estimated > 0 { ", its places estimated" } else { "" };
    let parts = [
        (flat.recorder_nanos, "in the recorder", ""),
        (flat.processor_nanos, "waiting for a processor", guess),
        (flat.waiting_nanos, "in waits of its own", ""),
    ];
    let shown = parts.into_iter().filter(|(nanos, ..)| *nanos > 0.0 && nanos * 100.0 >= flat.whole_nanos());
    // Lanes may wait at the same time. With several runs, the wall time is of all runs and the waits are means.
    let (whole, of_it, of) = match (profile.runs(), &profile.lanes[..]) {
        (Some(_), _) => (flat.whole_nanos(), "", " of a run"),
        (None, [_]) => (profile.wall_nanos() as f64, " of it", ""),
        (None, _) => (flat.whole_nanos(), "", " of all lanes"),
    };
    let text = |(nanos, what, guess): (f64, _, _)| {
        let (share, time) = (100.0 * nanos / whole, unit.text(nanos.round() as u64));
        format!(", {time}{of_it} {what} ({share:.0} %{of}{guess})")
    };
    shown.map(text).collect()
}

/// How long calls were open and how long not, by the samples; and how many calls are listed one by one.
fn busy_text(profile: &Profile, sampling: &Sampling) -> String {
    let nanos = |ticks| Unit::of(&profile.header).text(profile.header.nanos(ticks));
    let spans = match sampling.span_min_nanos {
        0 => String::new(),
        min => format!(
            "; {} of {} or more listed one by one",
            plural(profile.health.counts.spans, "call"),
            nanos_text(min)
        ),
    };
    format!("{} in calls, {} outside{spans}", nanos(sampling.busy_ticks), nanos(sampling.idle_ticks))
}

/// The engine that ran the guest, and the system.
pub fn host_text(header: &Header) -> String {
    let host = &header.host;
    let engine = [&host.name, &host.version];
    let system = [&host.os, &host.arch];
    let words = |words: [&String; 2]| {
        words
            .map(|word| printable(word))
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    match (words(engine), words(system)) {
        (engine, system) if engine.is_empty() && system.is_empty() => "unknown".to_owned(),
        (engine, system) if system.is_empty() => engine,
        (engine, system) if engine.is_empty() => system,
        (engine, system) => format!("{engine} on {system}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_trace::HostInfo;

    #[test]
    fn a_host_is_described_as_far_as_it_is_known() {
        let mut header = Header::default();
        assert_eq!(host_text(&header), "unknown");
        header.host = HostInfo { name: "node".into(), os: "linux".into(), ..HostInfo::default() };
        assert_eq!(host_text(&header), "node on linux");
    }
}
