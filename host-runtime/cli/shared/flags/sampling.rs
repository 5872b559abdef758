//! Flags for what is recorded, and how it is sampled.

use anyhow::bail;
use kperf_rewriter::Recording;
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
                .map_err(|error| format!("{error}; give a duration such as 1ms, or `off`")),
        }
    }
}

/// What is recorded.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is recorded")]
pub struct RecordArgs {
    /// `trace` records every call. `profile` counts all calls and takes samples of the open ones: counts are exact, times are
    /// sampled, and memory stays constant. A profile's recorder is always inside the module, in a component beside its modules
    /// [default: `profile` for `run` of a module on Linux on x86-64 without --trace, --otlp, --clock, --probe, --leaf, --plan or --allocations; else
    /// `trace`]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub record: Option<RecordArg>,
    /// Profiles: list calls one by one that last at least this long, for `replay`, `view` and spans [default: ten periods]. `off`
    /// lists none.
    #[arg(long, value_name = "TIME")]
    pub span_min: Option<SpanMin>,
    /// Profiles: where samples find the open calls. `native`: on the thread's own stack, for which the thread is interrupted; the
    /// module only counts. That costs 1 to 13 % of its time, but needs `run`, Linux and x86-64. `shadow`: on a stack that the
    /// module keeps, for 0.5 to 2 ns a call. Every host can read it, and slow calls of functions that call themselves are
    /// listed too. `auto`: native if possible, shadow otherwise.
    #[arg(long, value_enum, value_name = "STACK", default_value = "auto")]
    pub stack: StackArg,
}

impl RecordArgs {
    pub fn is_profile(&self) -> bool {
        self.record == Some(RecordArg::Profile)
    }

    /// The recording of a profile; `None` for a trace. `auto`: the recording that `--stack auto` stands for.
    pub fn profile(&self, auto: Recording) -> anyhow::Result<Option<Recording>> {
        let shadow = Recording::Profile { spans: self.span_min != Some(SpanMin::Off) };
        match (self.record.unwrap_or_default(), self.stack) {
            (RecordArg::Trace, _) if self.span_min.is_some() => {
                bail!("--span-min is for --record profile; a trace has every call anyway")
            }
            (RecordArg::Trace, StackArg::Auto) => Ok(None),
            (RecordArg::Trace, _) => bail!("--stack is for --record profile"),
            (RecordArg::Profile, StackArg::Auto | StackArg::Native) if is_native(auto) => Ok(Some(auto)),
            (RecordArg::Profile, StackArg::Native) => Ok(Some(Recording::Count)),
            (RecordArg::Profile, _) => Ok(Some(shadow)),
        }
    }

    /// The flags as they would be typed, as far as they changed the module.
    pub fn describe(&self, recording: &Recording, words: &mut Vec<String>) {
        let flags: &[&str] = match recording {
            Recording::Imported(_) | Recording::Inline(_) | Recording::CallTree => &[],
            Recording::Profile { spans: true } | Recording::OwnProfile => &["--record", "profile"],
            Recording::Profile { spans: false } => &["--record", "profile", "--span-min", "off"],
            Recording::Count | Recording::OwnCount | Recording::Sample => {
                &["--record", "profile", "--stack", "native"]
            }
        };
        words.extend(flags.iter().map(|&flag| flag.to_owned()));
    }
}

/// Whether samples find the open calls on the thread's stack.
fn is_native(recording: Recording) -> bool {
    matches!(recording, Recording::Count | Recording::OwnCount)
}

/// How profiles are sampled.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is recorded")]
pub struct SamplingArgs {
    /// Profiles: the time between two samples [default: 1ms, the first ones 50us, or a tenth of --span-min if that is less, on a native stack and
    /// where there is one processor; 100us on a shadow stack]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    period: Option<Duration>,
    /// Profiles: write a window of counts and samples to the trace after each TIME. A process that is killed loses at most one
    /// window [default: windows of 1 s, 2 s, 4 s, ..]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    every: Option<Duration>,
}

/// With a shorter period the samples would cost the guest more than the rest of the recorder does.
const SHORTEST_PERIOD: Duration = Duration::from_micros(10);
const LONGEST_PERIOD: Duration = Duration::from_secs(1);
const SHORTEST_WINDOW: Duration = Duration::from_millis(10);

impl SamplingArgs {
    /// Whether one of these flags is given.
    pub fn is_given(&self) -> bool {
        self.period.is_some() || self.every.is_some()
    }

    /// Windows of this length, if the flags don't say another.
    pub fn every_or(&mut self, every: Duration) {
        self.every.get_or_insert(every);
    }

    /// A sample in this time, if the flags don't say another.
    pub fn period_or(&mut self, period: Duration) {
        self.period.get_or_insert(period);
    }

    /// The sampling that these flags ask for. `native`: samples are taken of the thread's own stack.
    pub fn sampling(&self, span_min: Option<SpanMin>, native: bool) -> anyhow::Result<Sampling> {
        let longest = if native { Sampling::NATIVE_PERIOD } else { Sampling::default().period };
        let usual = match span_min {
            Some(SpanMin::Time(min)) => (min / Sampling::SPAN_PERIODS).clamp(Sampling::PERIOD, longest),
            _ => longest,
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
            Some(SpanMin::Time(min)) if min < 2 * period => {
                bail!("--span-min {min:?} is less than two periods of {period:?}: a call must be seen twice");
            }
            Some(SpanMin::Time(min)) => Sampling { span_min: Some(min), ..sampling },
        })
    }
}
