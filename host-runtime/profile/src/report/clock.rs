//! A trace's clock, and how its times were sampled, in words.

use crate::reading::profile::Profile;
use crate::sampled::sampling::{Sampling, WindowProfile};
use crate::symbols::printable;
use crate::text::{grouped, nanos_text, plural, rough_text};
use crate::unit::Unit;
use kperf_trace::{ClockKind, Header, TickTotal};

/// What the times of a profile rest on: `clock: ..`, or `times: ..` if they are sampled.
pub fn times_text(profile: &Profile) -> String {
    match (profile.sampling(), profile.runs()) {
        (Some(sampling), Some(runs)) => format!("times: {}", runs_text(profile, runs, sampling)),
        (Some(sampling), None) => format!("times: {}", sampling_text(profile, sampling)),
        (None, _) => format!("clock: {}", clock_text(&profile.header, profile.ticks())),
    }
}

/// A trace's clock and its resolution.
pub fn clock_text(header: &Header, ticks: Option<&TickTotal>) -> String {
    let clock = &header.clock;
    let source = printable(&clock.source);
    match (clock.kind, ticks, clock.period_nanos) {
        (ClockKind::Instructions, ..) => "instructions that were executed: the same in every run".to_owned(),
        (ClockKind::Precise, ..) => {
            format!("precise ({source}), resolution {}", Unit::Time.fine_text(clock.resolution_nanos))
        }
        (ClockKind::Ticker, Some(ticks), _) if ticks.squares <= 0.0 => {
            format!("precise ({source}): no tick came, and each event read the clock itself")
        }
        (ClockKind::Ticker, Some(ticks), _) => {
            let usual = ticks.resolution_nanos();
            let text = rough_text(usual, usual / 10.0);
            format!("ticker ({source}), one tick in {text}: times are sampled")
        }
        (ClockKind::Ticker, None, Some(period)) => format!(
            "ticker ({source}), one tick in {} was asked for, how many came is not recorded: times are sampled",
            nanos_text(period)
        ),
        (ClockKind::Ticker, None, None) => format!("ticker ({source}): times are sampled"),
    }
}

/// A profile's samples.
pub fn sampling_text(profile: &Profile, sampling: &Sampling) -> String {
    if sampling.is_counted() {
        let clock = match Unit::of(&profile.header) {
            Unit::Time => "a clock that is read now and then, and instructions in between",
            Unit::Instructions => "instructions that were executed",
        };
        return format!("{clock}; counts of paths are exact");
    }
    let distance = match sampling.samples {
        0 => sampling.period_nanos,
        samples => profile.header.nanos(sampling.busy_ticks.saturating_add(sampling.idle_ticks)) / samples,
    };
    let torn = match sampling.torn {
        0 => String::new(),
        torn => format!(", {} torn", grouped(torn)),
    };
    let counts = match profile.has_counts() {
        true => "counts of functions are exact; times, and counts by caller, are sampled",
        false => "no run with probes came to its end, so counts are unknown; times are sampled",
    };
    format!("{}, one in {}{torn}: {counts}", plural(sampling.samples, "sample"), nanos_text(distance))
}

/// The samples of a program that ran several times.
fn runs_text(profile: &Profile, runs: &[WindowProfile], sampling: &Sampling) -> String {
    let runs = plural(runs.len() as u64, "run");
    // Samples of the runs with probes are not counted.
    let samples = sampling.effective_samples().round() as u64;
    let busy = profile.header.nanos(sampling.busy_ticks);
    format!(
        "means of {runs} without probes, {}, one in {}; counts: means of {runs} with probes",
        plural(samples, "sample"),
        nanos_text(busy.checked_div(samples).unwrap_or(sampling.period_nanos))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_trace::ClockInfo;

    #[test]
    fn a_clock_is_described_as_far_as_it_is_known() {
        let mut header = Header::default();
        assert_eq!(clock_text(&header, None), "precise (unknown), resolution 1.0 ns");
        header.clock = ClockInfo {
            kind: ClockKind::Ticker,
            source: "tsc".into(),
            period_nanos: Some(2_000),
            ..ClockInfo::default()
        };
        let clock = "ticker (tsc), one tick in 2.000 us was asked for, how many came is not recorded: times are sampled";
        assert_eq!(clock_text(&header, None), clock);
        let text = |gaps: &[(u64, u64)]| {
            let mut ticks = TickTotal::default();
            gaps.iter().for_each(|&(nanos, coarse)| ticks.add(nanos, coarse));
            clock_text(&header, Some(&ticks))
        };
        assert_eq!(text(&[(2_100, 2_100); 3]), "ticker (tsc), one tick in 2.1 us: times are sampled");
        // The real period may differ from the requested one.
        assert_eq!(text(&[(1_000_000, 1_000_000); 3]), "ticker (tsc), one tick in 1.0 ms: times are sampled");
        let never = "precise (tsc): no tick came, and each event read the clock itself";
        assert_eq!(text(&[(1_000_000, 0)]), never);
    }
}
