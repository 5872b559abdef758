//! The ways of recording that are compared.

use crate::tools::Tools;
use crate::way::{Clock, Host, Target, Way};
use kperf_wasmtime::HAS_NATIVE_STACKS;

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) host: Host,
    pub(crate) name: &'static str,
    pub(crate) way: Way,
    /// What part of the calls it makes, where all would take minutes or gigabytes.
    pub(crate) fraction: u32,
    /// Whether it is in the sweep of depths.
    pub(crate) in_sweep: bool,
    /// Whether `fib` and the Game of Life are run with it.
    pub(crate) in_programs: bool,
    /// Whether the published programs are.
    pub(crate) in_real: bool,
}

/// The name of the configuration that others are compared with.
pub(crate) const PLAIN: &str = "no probes";

/// All of them, in the order of the tables.
pub(crate) fn all() -> impl Iterator<Item = Configuration> {
    let recorder = |inside, clock, target| Way::Recorder { inside, clock, target };
    let (beside, inside) = (false, true);
    let wasmtime = [
        (PLAIN, Way::None),
        ("empty host functions", Way::Empty),
        ("inline, switched off", Way::Off),
        ("import, clock stands", recorder(beside, Clock::Standing, Target::Nowhere)),
        ("import, ticker", recorder(beside, Clock::Ticker, Target::Nowhere)),
        ("import, precise", recorder(beside, Clock::Precise, Target::Nowhere)),
        ("inline, clock stands", recorder(inside, Clock::Standing, Target::Nowhere)),
        ("inline, ticker", recorder(inside, Clock::Ticker, Target::Nowhere)),
        ("inline, precise", recorder(inside, Clock::Precise, Target::Nowhere)),
        ("inline, ticker, trace file", recorder(inside, Clock::Ticker, Target::File)),
        ("inline, ticker, leaves counted, trace file", Way::Counted),
        ("inline, ticker, k-perf text", recorder(inside, Clock::Ticker, Target::Text)),
        ("inline, ticker, OTLP", recorder(inside, Clock::Ticker, Target::Otlp)),
        ("profile, native stack", Way::Native),
        ("profile", Way::Profile { spans: true }),
        ("profile, no slow calls", Way::Profile { spans: false }),
        ("whamm, empty library", Way::Whamm),
        ("wasmtime's guest profiler", Way::GuestProfiler),
    ];
    let node = [
        (PLAIN, Way::None),
        ("empty host functions", Way::Empty),
        ("inline, switched off", Way::Off),
        ("import, clock stands", recorder(beside, Clock::Standing, Target::File)),
        ("import, ticker, trace file", recorder(beside, Clock::Ticker, Target::File)),
        ("import, precise, trace file", recorder(beside, Clock::Precise, Target::File)),
        ("import, ticker, k-perf text", recorder(beside, Clock::Ticker, Target::Text)),
        ("import, ticker, OTLP", recorder(beside, Clock::Ticker, Target::Otlp)),
        ("inline, ticker, trace file", recorder(inside, Clock::Ticker, Target::File)),
        ("inline, precise, trace file", recorder(inside, Clock::Precise, Target::File)),
        ("profile", Way::Profile { spans: true }),
        ("profile, no slow calls", Way::Profile { spans: false }),
    ];
    let jvm = [
        (PLAIN, Way::None),
        ("Kieker, binary file", Way::Kieker),
        ("OpenTelemetry agent, OTLP", Way::OpenTelemetry),
    ];
    let of = |host| move |(name, way)| Configuration::new(host, name, way);
    let wasmtime = wasmtime.into_iter().map(of(Host::Wasmtime));
    wasmtime.chain(node.into_iter().map(of(Host::Node))).chain(jvm.into_iter().map(of(Host::Jvm)))
}

impl Configuration {
    fn new(host: Host, name: &'static str, way: Way) -> Configuration {
        let fraction = match way {
            Way::Recorder { target: Target::Text | Target::Otlp, .. } | Way::Kieker | Way::OpenTelemetry => {
                10
            }
            _ => 1,
        };
        let to_file =
            matches!(way, Way::Recorder { target: Target::File, clock: Clock::Ticker | Clock::Precise, .. });
        let beside = matches!(
            way,
            Way::Recorder { inside: false, clock: Clock::Ticker | Clock::Precise, target: Target::Nowhere }
        );
        let in_sweep = matches!(way, Way::None | Way::Empty | Way::Native | Way::Profile { spans: true })
            || to_file
            || beside;
        Configuration {
            host,
            name,
            way,
            fraction,
            in_sweep,
            in_programs: in_sweep || matches!(way, Way::Off | Way::Counted | Way::Profile { .. }),
            in_real: matches!(way, Way::None | Way::Empty | Way::Off | Way::Counted)
                || matches!(way, Way::Native | Way::Profile { .. })
                || matches!(way, Way::Recorder { inside: true, clock: Clock::Ticker, target: Target::File }),
        }
    }

    /// What it would need that isn't here; `None` if it can run.
    pub(crate) fn needs(&self, tools: &Tools) -> Option<&'static str> {
        let node = (self.host == Host::Node && tools.node.is_none())
            .then_some("node and `npm ci` in host-runtime/js");
        let inside = (self.host == Host::Node && !self.way.recording().is_imported() && !tools.node_inside)
            .then_some("package for node that serves recorders inside of modules");
        let jvm = (self.host == Host::Jvm && tools.java.is_none()).then_some("java and javac");
        let own = match self.way {
            Way::Recorder { target: Target::Otlp, .. } | Way::OpenTelemetry if tools.collector.is_none() => {
                Some("a Collector (`scripts/otlp-server collector`)")
            }
            Way::Native if !HAS_NATIVE_STACKS => Some("stack that can be walked: Linux on x86-64"),
            Way::Whamm if tools.whamm.is_none() => Some("whamm (`scripts/bench --with-whamm`)"),
            Way::GuestProfiler if tools.guest_profiler.is_none() => Some("wasmtime 48 for Python"),
            Way::Kieker if tools.kieker.is_none() => Some("Kieker's agent"),
            Way::OpenTelemetry if tools.opentelemetry.is_none() => Some("OpenTelemetry's agent for Java"),
            _ => None,
        };
        node.or(inside).or(jvm).or(own)
    }
}
