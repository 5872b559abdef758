//! `kperf-wasm plan`: chooses the functions that get no probes.

use crate::shared::flags::filters::share;
use crate::shared::input;
use crate::shared::output;
use crate::shared::plan_file;
use crate::shared::product::{self, Product};
use crate::shared::symbols::SymbolArgs;
use crate::shared::table::{grouped, plural};
use crate::shared::traces;
use anyhow::bail;
use kperf_profile::{FlatProfile, ProbePlan, Profile, Row, Unit};
use std::path::PathBuf;
use std::process::ExitCode;

/// Choose functions that get no probes, so that a trace costs no more than it may
///
/// Short functions with many calls make a trace slow, and tell little. From the counts and times of a recording, the plan leaves out
/// those with the least self time for what their probes cost, until the probes of all others cost at most --budget of the
/// program. `run --plan` and `rewrite --plan` take the file; in Node.js it is named by KPERF_PLAN.
///
/// The time of a function without probes is part of its callers' time, and its calls are not counted. A profile (`run` without flags) is
/// the cheapest recording to make a plan from.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// A profile or trace of all the program's functions, or `-` for stdin.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Where to write the plan, a text; `-` is stdout.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// What probes may cost: a part of the time that the program takes without them.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    budget: f64,
    #[command(flatten)]
    symbols: SymbolArgs,
}

const EXAMPLES: &str = "\
Examples:
  kperf-wasm run app.wasm                                   a profile
  kperf-wasm plan app.kperf -o app.plan
  kperf-wasm run app.wasm --plan app.plan                   a trace that costs 5 %
  kperf-wasm plan app.kperf --budget 20% -o app.plan
  KPERF_PLAN=app.plan node --import kperf-wasm/register app.mjs

Exit codes:
  0 fine (also if the budget can't be met: that is said), 1 failure, 2 wrong usage";

/// What a call costs in a trace that `run` makes, in nanoseconds, where the recording doesn't say it: docs/performance.md.
const WASMTIME_NANOS: f64 = 2.5;
/// The same in JavaScript.
const JAVASCRIPT_NANOS: f64 = 4.0;

impl Opts {
    /// Makes the plan, and tells what it changes.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        product::keep(&self.trace, &self.output)?;
        let profile = traces::source(&self.trace).symbols(&self.symbols).profile()?;
        traces::report_health(&profile.health);
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
        if Unit::of(&profile.header) != Unit::Time {
            bail!("a plan needs times, and this trace has instructions; record without --clock instructions");
        }
        if flat.calls == 0 || flat.self_nanos <= 0.0 {
            bail!("`{}` has no calls with times to make a plan from", input::name(&self.trace));
        }
        let (call_nanos, how) = call_nanos(&profile);
        let can_go = |row: &Row| {
            let is_own = profile.symbols.get(row.func).is_some_and(|symbol| !symbol.imported);
            is_own && ProbePlan::name(&profile.symbols, row).is_some()
        };
        self.warn_chosen(&profile);
        let is_trace = profile.sampling().is_none();
        let plan = ProbePlan::new(&flat, call_nanos, self.budget, is_trace, can_go);
        let [all, rest] = [plan.calls, plan.recorded_calls].map(|calls| percent(plan.cost(calls)));
        let what = format!(
            "From {}: a trace of all {} calls costs {all} of the program, with this plan {rest} ({} allowed; {call_nanos:.1} ns a call, {how}).",
            input::name(&self.trace),
            grouped(plan.calls),
            percent(self.budget),
        );
        Product::write(&self.output, false, plan_file::text(&plan, &profile.symbols, &what).as_bytes())?;
        self.tell(&plan, &flat, [all, rest]);
        Ok(ExitCode::SUCCESS)
    }

    /// A plan of a plan would bring back what the first left out.
    fn warn_chosen(&self, profile: &Profile) {
        let chooses = |options: &&str| {
            let flags = ["--plan", "--only", "--skip", "--min-instructions", "--exports"];
            options.split(' ').any(|word| flags.contains(&word))
        };
        let options = profile.symbols.tables().iter().map(|table| table.module.options.as_ref());
        if let Some(options) = options.into_iter().find(chooses) {
            output::warn(format_args!(
                "only some functions had probes ({options}), and the plan knows of no others: record the program without these flags"
            ));
        }
    }

    fn tell(&self, plan: &ProbePlan<'_>, flat: &FlatProfile, [all, rest]: [String; 2]) {
        if plan.left_out.is_empty() {
            output::status(format_args!(
                "all {} functions keep their probes: a trace costs {all}",
                flat.rows.len()
            ));
            return;
        }
        let (functions, lost) = (plural(plan.left_out.len() as u64, "function"), 100.0 * plan.lost_share());
        output::status(format_args!(
            "{functions} of {} get no probes: a trace costs {rest} instead of {all}, has {} of {} calls, and {lost:.1} % of self time becomes the callers'",
            flat.rows.len(),
            grouped(plan.recorded_calls),
            grouped(plan.calls),
        ));
        if plan.cost(plan.recorded_calls) > self.budget {
            output::warn(format_args!(
                "the budget of {} can't be met: {rest} is the least",
                percent(self.budget)
            ));
        }
    }
}

/// What a call's probes cost in nanoseconds, and where that is from.
fn call_nanos(profile: &Profile) -> (f64, &'static str) {
    match &profile.header.probe_cost {
        Some(cost) if profile.sampling().is_none() && cost.inside_nanos + cost.outside_nanos > 0.0 => {
            (cost.inside_nanos + cost.outside_nanos, "measured there")
        }
        _ if profile.header.host.name == "wasmtime" => (WASMTIME_NANOS, "as usual"),
        _ => (JAVASCRIPT_NANOS, "as usual"),
    }
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}
