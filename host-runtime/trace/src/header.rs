//! The header of a trace: the clock, the host, the command.

use crate::context::TraceContext;
use serde::{Deserialize, Deserializer, Serialize};

/// The first chunk of a trace. Fields that a file lacks have their defaults; fields that this version doesn't know are
/// ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// The clock that all ticks are readings of.
    pub clock: ClockInfo,
    /// Ties the clock to the calendar.
    pub anchor: Anchor,
    /// The cost of a call's probes; `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_cost: Option<ProbeCost>,
    /// The engine that ran the guest, and the machine.
    pub host: HostInfo,
    /// The command line, the program's name first; empty where there was none.
    pub command: Vec<String>,
    /// The parent of the calls that the host makes, unless a [`CallParent`](crate::CallParent) names another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<TraceContext>,
    /// Whether the program ran several times. Each window with counts of calls is the last one of a run.
    #[serde(skip_serializing_if = "is_false")]
    pub repeated: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockInfo {
    /// How recorders read it. A kind that this version doesn't know becomes [`ClockKind::Precise`].
    #[serde(deserialize_with = "known_kind")]
    pub kind: ClockKind,
    /// Its name: `tsc`, `monotonic`, `performance.now`, `instructions`, `test`; `unknown` by default.
    pub source: String,
    /// Its rate. Positive and finite in a header that a reader gives.
    #[serde(deserialize_with = "rate")]
    pub ticks_per_second: f64,
    /// The smallest step it takes, in nanoseconds.
    pub resolution_nanos: f64,
    /// Ticker only: how often the time that recorders see is renewed, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_nanos: Option<u64>,
    /// Why the clock is not a ticker though one was wanted: half a sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_ticker: Option<String>,
}

impl Default for ClockInfo {
    /// A clock of nanoseconds.
    fn default() -> ClockInfo {
        ClockInfo {
            kind: ClockKind::Precise,
            source: "unknown".into(),
            ticks_per_second: 1e9,
            resolution_nanos: 1.0,
            period_nanos: None,
            no_ticker: None,
        }
    }
}

/// How a recorder learns the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockKind {
    /// Every event reads the clock.
    #[default]
    Precise,
    /// Every event reads a copy of the time that another thread renews. Counts are exact; times are as coarse as samples.
    Ticker,
    /// Not a time: each instance counts the instructions that it has executed. A tick is one instruction. Conversions to time count
    /// it as a nanosecond (`ticks_per_second` is 1e9).
    Instructions,
}

/// One moment, read on the trace's clock and on the calendar's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Anchor {
    /// Reading of the trace's clock.
    #[serde(deserialize_with = "u64_or_decimal")]
    pub ticks: u64,
    /// Nanoseconds since 1970-01-01 00:00 UTC at that reading.
    #[serde(deserialize_with = "u64_or_decimal")]
    pub unix_nanos: u64,
}

/// The cost of a call's probes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeCost {
    /// The part between the call's own enter and leave: it is measured as time of the function.
    pub inside_nanos: f64,
    /// The part outside of them: it is measured as time of the caller.
    pub outside_nanos: f64,
}

/// The engine that ran the guest, and the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostInfo {
    /// The engine, such as `wasmtime`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The operating system.
    pub os: String,
    /// The processor's architecture.
    pub arch: String,
    /// The process; 0 if the host has none.
    pub pid: u32,
}

impl Header {
    /// How long so many ticks take, in nanoseconds, to the nearest. Exact below 2^53 where a tick is a nanosecond.
    pub fn nanos(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.nanos_per_tick()).round() as u64
    }

    /// Nanoseconds from the anchor to a reading of the clock; negative for a reading before it.
    pub fn nanos_since_anchor(&self, ticks: u64) -> i64 {
        let since = self.nanos(ticks.abs_diff(self.anchor.ticks)).min(i64::MAX as u64) as i64;
        if ticks < self.anchor.ticks { -since } else { since }
    }

    /// Nanoseconds from 1970-01-01 00:00 UTC to a reading of the clock.
    pub fn unix_nanos(&self, ticks: u64) -> u64 {
        self.anchor.unix_nanos.saturating_add_signed(self.nanos_since_anchor(ticks))
    }

    /// Length of a tick. The quotient comes first so that a clock of nanoseconds multiplies by exactly one.
    pub(crate) fn nanos_per_tick(&self) -> f64 {
        1e9 / self.clock.ticks_per_second
    }
}

/// A kind of clock, or the default for one that a later version may have.
fn known_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ClockKind, D::Error> {
    let kind = String::deserialize(deserializer)?;
    Ok(match &*kind {
        "ticker" => ClockKind::Ticker,
        "instructions" => ClockKind::Instructions,
        _ => ClockKind::Precise,
    })
}

/// A rate that times can be computed with.
fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let rate = f64::deserialize(deserializer)?;
    let is_sane = rate.is_finite() && rate > 0.0;
    if is_sane { Ok(rate) } else { Err(serde::de::Error::custom("the clock's rate is not above 0")) }
}

/// A u64 as a JSON number or, from writers whose numbers have 53 bits, as a string of decimal digits.
pub(crate) fn u64_or_decimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Decimal(String),
    }
    match Either::deserialize(deserializer)? {
        Either::Number(number) => Ok(number),
        Either::Decimal(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(ticks_per_second: f64) -> Header {
        let clock = ClockInfo { ticks_per_second, ..ClockInfo::default() };
        Header { clock, anchor: Anchor { ticks: 1000, unix_nanos: 5_000_000 }, ..Header::default() }
    }

    #[test]
    fn ticks_become_nanoseconds_to_the_nearest() {
        let header = header(2.5e9);
        assert_eq!([0, 1, 2, 3, 5].map(|ticks| header.nanos(ticks)), [0, 0, 1, 1, 2]);
        assert_eq!([0, 1000, 1005].map(|ticks| header.nanos_since_anchor(ticks)), [-400, 0, 2]);
        assert_eq!([0, 1000, 1005].map(|ticks| header.unix_nanos(ticks)), [4_999_600, 5_000_000, 5_000_002]);
    }

    #[test]
    fn a_clock_of_nanoseconds_is_exact_and_extremes_saturate() {
        let precise = header(1e9);
        assert_eq!(precise.nanos((1 << 53) - 1), (1 << 53) - 1);
        assert_eq!(precise.unix_nanos(1_700_000_000_123), 1_700_004_999_123);
        let slow = header(1e-9);
        assert_eq!(slow.nanos(u64::MAX), u64::MAX);
        assert_eq!((slow.nanos_since_anchor(0), slow.unix_nanos(0)), (-i64::MAX, 0));
        assert_eq!(slow.nanos_since_anchor(u64::MAX), i64::MAX);
    }

    #[test]
    fn the_header_survives_json() {
        let json = serde_json::to_string(&header(2.5e9)).expect("JSON");
        assert_eq!(serde_json::from_str::<Header>(&json).expect("a header"), header(2.5e9));
    }
}
