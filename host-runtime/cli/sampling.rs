//! What is recorded, and how profiles are sampled: flags of `run` and `rewrite`.

use anyhow::bail;
use kperf_rewriter::Probe;
use kperf_wasmtime::Sampling;
use std::str::FromStr;
use std::time::Duration;

/// `--record`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RecordArg {
    #[default]
    Trace,
    Profile,
}

/// `--stack`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum StackArg {
    #[default]
    Auto,
    Native,
    Shadow,
}

/// `--span-min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanMin {
    Off,
    Time(Duration),
}

impl FromStr for SpanMin {
    type Err = String;

    fn from_str(text: &str) -> Result<SpanMin, String> {
        match text {
            "off" => Ok(SpanMin::Off),
            _ => humantime::parse_duration(text)
                .map(SpanMin::Time)
                .map_err(|error| format!("{error}; a duration such as 1ms is wanted, or `off`")),
        }
    }
}

/// What is recorded.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is recorded")]
pub struct RecordArgs {
    /// `trace` records every call; `profile` counts them and looks every now and then which are open: exact counts, times of a
    /// sampler, in constant memory. The recorder is inside the module then.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "trace")]
    pub record: RecordArg,
    /// Of a profile: calls that are seen to last so long are told one by one too, for `replay`, `view` and spans [default:
    /// ten periods]. `off` tells none.
    #[arg(long, value_name = "TIME")]
    pub span_min: Option<SpanMin>,
    /// Of a profile: where the open calls are found. `native`: on the stack of the thread that makes them, which is interrupted
    /// for that; the module only counts, and both cost some 5 % of its time. For `run` on Linux on x86-64. `shadow`: on a stack that the
    /// module keeps, 0.5 to 2 ns a call: any host can look at it, and slow calls are told of functions too that have called
    /// themselves meanwhile. `auto` is native for `run` where that can be, shadow otherwise.
    #[arg(long, value_enum, value_name = "STACK", default_value = "auto")]
    pub stack: StackArg,
}

impl RecordArgs {
    pub fn is_profile(&self) -> bool {
        self.record == RecordArg::Profile
    }

    /// The probes that it takes, if not those of a trace. `auto` is what that means here.
    pub fn probe(&self, auto: Probe) -> anyhow::Result<Option<Probe>> {
        let shadow = Probe::Profile { spans: self.span_min != Some(SpanMin::Off) };
        match (self.record, self.stack) {
            (RecordArg::Trace, _) if self.span_min.is_some() => {
                bail!("--span-min is for --record profile; a trace tells every call")
            }
            (RecordArg::Trace, StackArg::Auto) => Ok(None),
            (RecordArg::Trace, _) => bail!("--stack is for --record profile"),
            (RecordArg::Profile, StackArg::Native) => Ok(Some(Probe::Count)),
            (RecordArg::Profile, StackArg::Auto) if auto == Probe::Count => Ok(Some(Probe::Count)),
            (RecordArg::Profile, _) => Ok(Some(shadow)),
        }
    }

    /// The flags as one would type them, as far as the module with these probes shows them.
    pub fn describe(&self, probe: Probe, words: &mut Vec<String>) {
        let flags: &[&str] = match probe {
            Probe::Import | Probe::Inline => &[],
            Probe::Profile { spans: true } => &["--record", "profile"],
            Probe::Profile { spans: false } => &["--record", "profile", "--span-min", "off"],
            Probe::Count => &["--record", "profile", "--stack", "native"],
        };
        words.extend(flags.iter().map(|&flag| flag.to_owned()));
    }
}

/// How profiles are sampled.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is recorded")]
pub struct SamplingArgs {
    /// Of a profile: how often a sample is taken [default: 1ms on a native stack, or a tenth of --span-min if that is less;
    /// 100us on a shadow stack]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    period: Option<Duration>,
    /// Of a profile: write what was counted and seen so often, so that the trace grows by it, and a process that is killed
    /// loses no more [default: after 1 s, 2 s more, 4 s more, ..]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    every: Option<Duration>,
}

/// Below this the guest pays more for being looked at than for anything else of ours.
const SHORTEST_PERIOD: Duration = Duration::from_micros(10);
const LONGEST_PERIOD: Duration = Duration::from_secs(1);
const SHORTEST_WINDOW: Duration = Duration::from_millis(10);

impl SamplingArgs {
    /// Whether any of it was given.
    pub fn is_given(&self) -> bool {
        self.period.is_some() || self.every.is_some()
    }

    /// `native`: the guest keeps no stack of its own.
    pub fn sampling(&self, span_min: Option<SpanMin>, native: bool) -> anyhow::Result<Sampling> {
        let usual = match span_min {
            Some(SpanMin::Time(least)) if native => {
                (least / Sampling::SPAN_PERIODS).clamp(Sampling::PERIOD, Sampling::NATIVE_PERIOD)
            }
            _ if native => Sampling::NATIVE_PERIOD,
            _ => Sampling::PERIOD,
        };
        let period = self.period.unwrap_or(usual);
        if !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&period) {
            bail!("a --period of {period:?} is outside of 10us to 1s");
        }
        if native && period < Sampling::SHORTEST_NATIVE_PERIOD {
            bail!(
                "a --period of {period:?} is too short to interrupt a thread; take 100us, or --stack shadow"
            );
        }
        if let Some(every) = self.every.filter(|&every| every < SHORTEST_WINDOW) {
            bail!("--every {every:?} is shorter than 10ms");
        }
        let sampling = Sampling { every: self.every, ..Sampling::new(period) };
        Ok(match span_min {
            None => sampling,
            Some(SpanMin::Off) => Sampling { span_min: None, ..sampling },
            Some(SpanMin::Time(least)) if least < 2 * period => {
                bail!(
                    "--span-min {least:?} is less than two periods of {period:?}: a call must be seen twice"
                );
            }
            Some(SpanMin::Time(least)) => Sampling { span_min: Some(least), ..sampling },
        })
    }
}
