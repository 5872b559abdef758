//! Hints about figures that are not exact, with the command to type.

use crate::reading::profile::Profile;
use crate::text::times;
use crate::tree::flat::FlatProfile;
use kperf_abi::Symbol;
use kperf_trace::{AnomalyKind, ClockKind};

/// With fewer ticks or samples than this, a share of 10 % may be off by 6 points.
const FEW_SAMPLES: f64 = 100.0;
/// The share of the time from which a hint mentions probes, functions without names, or a ticker that stalled.
const MUCH: f64 = 0.3;

/// A ticker with at least this period, in nanoseconds, is the default on a single processor.
const ALONE_PERIOD: u64 = 1_000_000;
/// The least time taken by other programs that a hint mentions, in nanoseconds.
const PREEMPTED_NANOS: u64 = 20_000_000;

/// Hints for a better next trace. Each is a sentence without its full stop. A trace with trustworthy figures has none. `flat` is
/// the profile's, without compensation. If the shown figures are `compensated`, no hint mentions the cost of probes.
pub fn hints(profile: &Profile, flat: &FlatProfile, compensated: bool) -> Vec<String> {
    // The test clock counts its readings, so its times say nothing about cost.
    let timed = |hint: Option<String>| hint.filter(|_| profile.header.clock.source != "test");
    let all = [
        cut_short(profile),
        timed(probes(profile, flat).filter(|_| !compensated)),
        // If others had the processor, a finer clock doesn't help.
        busy(profile, flat).or_else(|| timed(samples(profile, flat))),
        names(profile, flat),
        go(profile).map(str::to_owned),
    ];
    all.into_iter().flatten().collect()
}

/// Whether the calls are a component's: its modules are named `component/module`. `--leaf count` and maps of names are only for
/// modules.
fn is_of_component(profile: &Profile) -> bool {
    profile.symbols.tables().iter().any(|table| table.module.name.contains('/'))
}

/// Calls and resumptions of Go's functions look alike.
pub fn go(profile: &Profile) -> Option<&'static str> {
    // The loop that resumes goroutines is in every module of Go's compiler, and in no other.
    let is_loop = |symbol: &Symbol| symbol.display_name() == "wasm_pc_f_loop";
    profile.symbols.iter().any(is_loop).then_some(
        "this is Go's: a function that waited is entered anew when its goroutine goes on, so counts of calls include these",
    )
}

/// The recording ended before the program did.
fn cut_short(profile: &Profile) -> Option<String> {
    let is_cut = |kind: &AnomalyKind| matches!(kind, AnomalyKind::NoEnd | AnomalyKind::Truncated);
    let cut = profile.health.anomalies.iter().any(|anomaly| is_cut(&anomaly.kind));
    if cut {
        return Some(
            "the trace is cut short, and what is missing is in no figure; a program that may be killed loses at most a second \
             with --record profile --every 1s"
                .to_owned(),
        );
    }
    (profile.health.lost_events() > 0).then(|| {
        if is_of_component(profile) {
            return "events were lost, so times and counts are too small; record less (--only PATTERN), or take --record profile"
                .to_owned();
        }
        "events were lost, so times and counts are too small; record less (--only PATTERN, --leaf count), or take \
         --record profile"
            .to_owned()
    })
}

/// The probes took a large part of the time.
fn probes(profile: &Profile, flat: &FlatProfile) -> Option<String> {
    if profile.header.clock.kind == ClockKind::Instructions {
        return None;
    }
    let cost = profile.header.probe_cost.filter(|_| profile.sampling().is_none())?;
    let share = profile.calls() as f64 * (cost.inside_nanos + cost.outside_nanos) / flat.self_nanos.max(1.0);
    (share >= MUCH).then(|| {
        let take_off = if profile.compensation().is_ok() { "; report --compensate takes it off" } else { "" };
        format!(
            "the probes took some {:.0} % of the time, most of it in small functions; --record profile costs less{take_off}",
            100.0 * share.min(1.0)
        )
    })
}

/// There are too few ticks or samples for shares.
fn samples(profile: &Profile, flat: &FlatProfile) -> Option<String> {
    let precision = profile.precision(flat.self_nanos)?;
    if precision.effective_samples >= FEW_SAMPLES || profile.calls() == 0 {
        return None;
    }
    let few = |one, many| times(precision.effective_samples.round() as u64, one, many);
    Some(match profile.sampling() {
        Some(_) if profile.runs().is_some() => {
            format!("shares rest on {}; run it more often (--repeat 30)", few("sample", "samples"))
        }
        Some(_) => format!(
            "shares rest on {}; let it run longer, several times (run --repeat 10), or sample more often (--period 100us)",
            few("sample", "samples")
        ),
        None => format!(
            "shares rest on {}; for so short a run, --repeat 10 takes the mean of several, and --clock precise reads the time at \
             every event",
            few("tick", "ticks")
        ),
    })
}

/// Other programs took the processor: from the ticker, or from the guest.
fn busy(profile: &Profile, flat: &FlatProfile) -> Option<String> {
    // Without calls, no times are wrong.
    if profile.header.clock.kind == ClockKind::Instructions || flat.rows.is_empty() {
        return None;
    }
    // In a short run, a small amount is chance.
    let preempted = profile.health.preempted();
    let preempted = preempted.filter(|preempted| preempted.nanos >= PREEMPTED_NANOS).unwrap_or_default();
    let wall = profile.wall_nanos().max(1) as f64;
    let taken = preempted.nanos as f64 / f64::from(preempted.threads.max(1));
    let taken = taken.min(left_by_us(profile, wall));
    let stalled = (profile.health.stalls.ticker.nanos as f64).max(taken) / wall;
    (stalled >= MUCH).then(|| {
        format!(
            "the machine was busy for {:.0} % of the run; run it again when it isn't, or take --clock instructions, which counts the \
             same on every machine",
            100.0 * stalled.min(1.0)
        )
    })
}

/// The maximum time that other programs had, in nanoseconds. On a single processor it is the time that this process's threads did
/// not use.
fn left_by_us(profile: &Profile, wall: f64) -> f64 {
    let is_alone = profile.header.clock.period_nanos.is_some_and(|nanos| nanos >= ALONE_PERIOD);
    let cpu = profile.health.summary.as_ref().and_then(|summary| summary.cpu_nanos);
    cpu.filter(|_| is_alone).map_or(f64::INFINITY, |cpu| (wall - cpu as f64).max(0.0))
}

/// The functions that matter have no names.
fn names(profile: &Profile, flat: &FlatProfile) -> Option<String> {
    let unnamed =
        flat.rows.iter().filter(|row| profile.symbols.get(row.func).is_some_and(|symbol| symbol.unnamed));
    let (count, nanos) = unnamed.fold((0u64, 0.0), |(count, nanos), row| (count + 1, nanos + row.self_nanos));
    (nanos >= MUCH * flat.self_nanos && nanos > 0.0).then(|| {
        let or = if is_of_component(profile) {
            ""
        } else {
            ", or give an unstripped build or a map with --symbols FILE"
        };
        format!(
            "{count} of {} functions have no name: the module was stripped; build it with its names{or}",
            flat.rows.len()
        )
    })
}
