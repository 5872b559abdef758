//! The unit of a trace's times.

use kperf_trace::{ClockKind, Header};

/// The unit of a trace's times. Durations are in nanoseconds everywhere; where the clock counts instructions, a nanosecond
/// is one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Seconds and their parts.
    #[default]
    Time,
    /// Executed instructions.
    Instructions,
}

impl Unit {
    /// That of a trace.
    pub fn of(header: &Header) -> Unit {
        match header.clock.kind {
            ClockKind::Instructions => Unit::Instructions,
            ClockKind::Precise | ClockKind::Ticker => Unit::Time,
        }
    }

    /// For one, thousand, a million and thousand million of them.
    pub(crate) fn names(self) -> [&'static str; 4] {
        match self {
            Unit::Time => ["ns", "us", "ms", "s"],
            Unit::Instructions => ["instr", "k instr", "M instr", "G instr"],
        }
    }

    /// What is measured, in a word or two.
    pub fn noun(self) -> &'static str {
        match self {
            Unit::Time => "time",
            Unit::Instructions => "instructions",
        }
    }

    /// A key of JSON or CSV that says what it is in: `self_nanos`, or `self_instructions`.
    pub fn key(self, key: &str) -> String {
        match self {
            Unit::Time => key.to_owned(),
            Unit::Instructions => key.replace("nanos", "instructions"),
        }
    }

    /// So many of them for people, in ten characters at most while it is below 100,000 seconds: `61 ns`, `1.234 us`,
    /// `56.789 ms`, `2.000 s`; or `61 instr`, `1.234 k instr`, `56.789 M instr`, `2.000 G instr`.
    pub fn text(self, nanos: u64) -> String {
        let [one, thousand, million, billion] = self.names();
        if nanos < 1_000 {
            return format!("{nanos} {one}");
        }
        // Rounded before the unit is chosen, so that no 1000.000 us comes out.
        let rounded = |to: u64| nanos / to + u64::from(nanos % to * 2 >= to);
        let (thousandths, unit) = match (nanos, rounded(1_000), rounded(1_000_000)) {
            (nanos, ..) if nanos < 1_000_000 => (nanos, thousand),
            (_, micros, _) if micros < 1_000_000 => (micros, million),
            (.., millis) => (millis, billion),
        };
        format!("{}.{:03} {unit}", thousandths / 1_000, thousandths % 1_000)
    }

    /// The same of a mean, of which the fractions of one matter.
    pub fn fine_text(self, nanos: f64) -> String {
        if nanos < 999.95 {
            format!("{nanos:.1} {}", self.names()[0])
        } else {
            self.text(nanos.round() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_units_of_their_own() {
        let unit = Unit::Instructions;
        assert_eq!([0, 999, 1_234_500].map(|n| unit.text(n)), ["0 instr", "999 instr", "1.235 M instr"]);
        assert_eq!([unit.text(1_500), unit.text(2_000_000_000)], ["1.500 k instr", "2.000 G instr"]);
        assert_eq!([unit.fine_text(2.25), unit.fine_text(1_000.0)], ["2.2 instr", "1.000 k instr"]);
        assert_eq!(unit.key("self_nanos_before"), "self_instructions_before");
        assert_eq!(Unit::Time.key("self_nanos"), "self_nanos");
    }
}
