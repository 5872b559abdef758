//! `--clock`.

use kperf_wasmtime::ClockChoice;
use std::str::FromStr;
use std::time::Duration;

/// The value of `--clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockArg {
    Auto,
    Chosen(ClockChoice),
}

impl ClockArg {
    /// The clock to use on this machine.
    pub fn choose(self) -> ClockChoice {
        match self {
            ClockArg::Chosen(clock) => clock,
            ClockArg::Auto => ClockChoice::ticker(),
        }
        .for_this_machine()
    }
}

/// A line about the clock.
pub fn describe(clock: ClockChoice) -> String {
    match clock {
        ClockChoice::Ticker { period } => {
            let place = if period < ClockChoice::ALONE_PERIOD { ", on a second processor" } else { "" };
            format!(
                "clock: ticker, every {}{place} (`--clock precise` reads the time at every event)",
                period_text(period)
            )
        }
        ClockChoice::Instructions => "clock: the instructions that the guest executes".to_owned(),
        ClockChoice::Precise | ClockChoice::Test => "clock: precise".to_owned(),
    }
}

fn period_text(period: Duration) -> String {
    match period.as_nanos() {
        nanos if nanos.is_multiple_of(1_000_000) => format!("{} ms", nanos / 1_000_000),
        nanos if nanos.is_multiple_of(1000) => format!("{} us", nanos / 1000),
        nanos => format!("{nanos} ns"),
    }
}

impl FromStr for ClockArg {
    type Err = String;

    fn from_str(text: &str) -> Result<ClockArg, String> {
        Ok(match text {
            "auto" => ClockArg::Auto,
            "precise" => ClockArg::Chosen(ClockChoice::Precise),
            "ticker" => ClockArg::Chosen(ClockChoice::ticker()),
            "instructions" => ClockArg::Chosen(ClockChoice::Instructions),
            "test" => ClockArg::Chosen(ClockChoice::Test),
            _ => match text.strip_prefix("ticker:") {
                Some(period) => ClockArg::Chosen(ClockChoice::Ticker { period: parse_period(period)? }),
                None => return Err("use auto, precise, ticker, ticker:PERIOD or instructions".to_owned()),
            },
        })
    }
}

fn parse_period(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let nanos = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        _ => return Err(format!("`{text}` is not a period such as 500ns, 2us or 1ms")),
    };
    match number.parse::<f64>() {
        Ok(number) if (100.0..=1e9).contains(&(number * nanos)) => {
            Ok(Duration::from_nanos((number * nanos).round() as u64))
        }
        Ok(_) => Err(format!("a period of {text} is outside of 100ns to 1000ms")),
        Err(_) => Err(format!("`{text}` is not a period such as 500ns, 2us or 1ms")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_a_unit() {
        let period = |text: &str| match text.parse() {
            Ok(ClockArg::Chosen(ClockChoice::Ticker { period })) => Ok(period.as_nanos()),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
        assert_eq!(period("ticker"), Ok(2000));
        assert_eq!(period("ticker:1.8us"), Ok(1800));
        assert_eq!(period("ticker:500ns"), Ok(500));
        assert_eq!(period("ticker:1ms"), Ok(1_000_000));
        assert_eq!(period("ticker:2"), Err("`2` is not a period such as 500ns, 2us or 1ms".into()));
        assert_eq!(period("ticker:us"), Err("`us` is not a period such as 500ns, 2us or 1ms".into()));
        assert_eq!(period("ticker:0us"), Err("a period of 0us is outside of 100ns to 1000ms".into()));
        assert_eq!(period("tsc"), Err("use auto, precise, ticker, ticker:PERIOD or instructions".into()));
    }
}
