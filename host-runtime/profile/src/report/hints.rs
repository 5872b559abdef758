//! Hints about figures that are not exact, with what to type.

use crate::reading::profile::Profile;
use crate::text::times;
use crate::tree::flat::FlatProfile;
use kperf_trace::{AnomalyKind, ClockKind};

/// With fewer ticks or samples than this, a share of 10 % may be off by 6 points.
const FEW_SAMPLES: f64 = 100.0;
/// The part of the time from which on the probes, or functions without names, or a clock that stands still, are mentioned.
const MUCH: f64 = 0.3;

/// A ticker with a period from this on, in nanoseconds, is the default where there is only one processor.
const ALONE_PERIOD: u64 = 1_000_000;
/// Less time that others took is not worth a word, in nanoseconds.
const PREEMPTED_NANOS: u64 = 20_000_000;

/// What the user may do to learn more from the next trace. Each is a sentence without its full stop. A trace whose figures can be
/// trusted has none. `flat` is that of the profile, without compensation. If the figures that are shown are `compensated`, what
/// probes cost needs no word.
pub fn hints(profile: &Profile, flat: &FlatProfile, compensated: bool) -> Vec<String> {
    // The test clock counts its readings, whatever they cost.
    let timed = |hint: Option<String>| hint.filter(|_| profile.header.clock.source != "test");
    let all = [
        cut_short(profile),
        timed(probes(profile, flat).filter(|_| !compensated)),
        // If others had the processor, a finer clock doesn't help.
        busy(profile, flat).or_else(|| timed(samples(profile, flat))),
        names(profile, flat),
    ];
    all.into_iter().flatten().collect()
}

/// Whether the calls are a component's, whose modules are called `component/module`. `--leaf count` and maps with names are for modules
/// alone.
fn is_of_component(profile: &Profile) -> bool {
    profile.symbols.tables().iter().any(|table| table.module.name.contains('/'))
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
        Some(_) => format!(
            "shares rest on {}; let it run longer, sample more often (--period 100us), or record every call \
             (remove --record profile)",
            few("sample", "samples")
        ),
        None => format!(
            "shares rest on {}; for so short a run, --clock precise reads the time at every event",
            few("tick", "ticks")
        ),
    })
}

/// Other programs took the processor: from the ticker, or from the guest.
fn busy(profile: &Profile, flat: &FlatProfile) -> Option<String> {
    // Where nothing was called, nothing was slow.
    if profile.header.clock.kind == ClockKind::Instructions || flat.rows.is_empty() {
        return None;
    }
    // What is taken from a short run is chance.
    let preempted = profile.health.summary.as_ref().and_then(|summary| summary.preempted);
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

/// What others can have had of the processor at most, where there was only one: what this process's own threads left.
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
