//! Measures what a probe costs on this machine with this clock, so that reports can subtract it.
//!
//! It calls a function that does nothing, with probes and without, through the kind of recorder that the
//! guests had. The difference is the cost. If each event reads the clock, the time between enters and their
//! leaves counts for the function itself; the rest, minus a plain call, counts for its caller. A ticker
//! doesn't tick meanwhile: on a busy machine its thread would not run, and the cost of a tick is not part of
//! the cost of probes.
//!
//! It happens when a recording ends. By then we know what kind of probes the guests had, and no guest waits for it.

use super::handle::Recorder;
use crate::clock::source::{Clock, ClockChoice};
use crate::outlet::queue::Message;
use crate::recording::Recording;
use crate::recording::answered::Answered;
use kperf_abi::block::BlockHeader;
use kperf_abi::word::{self, Effect, Step};
use kperf_trace::ProbeCost;
use std::time::Duration;
use wasmtime::{Engine, Linker, Module, Store, TypedFunc};

/// Calls between two readings of the clock. Even with a time before every event they fit one block: no thread empties the queue
/// meanwhile.
const CALLS: u32 = 7000;
/// How many good rounds are enough.
const ROUNDS: usize = 16;
/// How many rounds are tried.
const TRIES: usize = 4 * ROUNDS;
/// The maximal duration of all rounds; longer only if the machine is too busy for [`FEWEST`] rounds in that time.
const MOST: Duration = Duration::from_millis(4);
/// With fewer good rounds there is no result.
const FEWEST: usize = 3;
/// `calibrate.wat`, rewritten.
const IMPORTING: &[u8] = include_bytes!("calibrate.wasm");
const INLINED: &[u8] = include_bytes!("calibrate.inline.wasm");
/// The first rounds, in which code and pages are still cold, don't count.
const COLD: usize = 2;

/// Measures with a recorder of its own. `None` if this engine can't do it: its pool may be too small, its limits too tight, or the
/// machine too busy. Takes some five milliseconds.
pub(crate) fn probe_cost(engine: &Engine, choice: ClockChoice, answered: Answered) -> Option<ProbeCost> {
    let recorder = Recorder { recording: Recording::for_trial(engine, choice) };
    let rounds = match answered {
        Answered::ByModule => with_module(&recorder),
        Answered::Inside => within(&recorder),
        Answered::ByHost => with_host_functions(&recorder),
        // A profile has no events.
        Answered::InMemory | Answered::InGlobals => return None,
    };
    summarize(&rounds.ok()?, &recorder.recording.outlet.clock)
}

/// What one round took, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    calls: u64,
    /// Time between enters and leaves, as recorded.
    inside: u64,
    /// Time between leaves and enters, as recorded.
    outside: u64,
    /// Time of all probed calls, by the clock.
    probed: u64,
    /// Time of as many calls without probes, by the clock.
    plain: u64,
}

impl Round {
    /// Whether the round is good: all calls are there, and the recorder saw about as much time pass as the clock, or none.
    fn is_whole(&self) -> bool {
        let recorded = self.inside + self.outside;
        let is_timed = recorded > self.probed / 2 && recorded < self.probed / 2 * 3;
        self.calls == u64::from(CALLS) && (recorded == 0 || is_timed)
    }
}

fn with_module(recorder: &Recorder) -> wasmtime::Result<Vec<Round>> {
    let mut store = Store::new(&recorder.recording.engine, ());
    let mut linker = Linker::new(store.engine());
    unlimit(&mut store);
    let lane = recorder.link(&mut store, &mut linker)?;
    measure(recorder, &mut store, &linker, IMPORTING, |store| lane.flush(store))
}

fn within(recorder: &Recorder) -> wasmtime::Result<Vec<Round>> {
    let mut store = Store::new(&recorder.recording.engine, ());
    let mut linker = Linker::new(store.engine());
    unlimit(&mut store);
    let inlined = recorder.link_inlined(&mut store, &mut linker)?;
    measure(recorder, &mut store, &linker, INLINED, |store| inlined.flush(store))
}

fn with_host_functions(recorder: &Recorder) -> wasmtime::Result<Vec<Round>> {
    let mut store = Store::new(&recorder.recording.engine, recorder.host_lane());
    let mut linker = Linker::new(store.engine());
    unlimit(&mut store);
    recorder.add_to_linker(&mut linker, |lane| lane)?;
    measure(recorder, &mut store, &linker, IMPORTING, |store| store.data_mut().flush())
}

/// The engine may count fuel or epochs: gives this store enough of both.
fn unlimit<T>(store: &mut Store<T>) {
    // An error says that fuel is not counted.
    let _ = store.set_fuel(u64::MAX);
    store.set_epoch_deadline(1 << 40);
}

fn measure<T: 'static>(
    recorder: &Recorder,
    store: &mut Store<T>,
    linker: &Linker<T>,
    module: &[u8],
    flush: impl Fn(&mut Store<T>),
) -> wasmtime::Result<Vec<Round>> {
    let clock = &recorder.recording.outlet.clock;
    let module = Module::new(store.engine(), module)?;
    let instance = linker.instantiate(&mut *store, &module)?;
    let plain: TypedFunc<u32, u32> = instance.get_typed_func(&mut *store, "plain")?;
    let probed: TypedFunc<u32, u32> = instance.get_typed_func(&mut *store, "probed")?;
    let mut rounds = Vec::with_capacity(ROUNDS);
    let until = clock.now().saturating_add(clock.ticks(MOST));
    let mut cold = COLD;
    for _ in 0..TRIES {
        let start = clock.now();
        if rounds.len() == ROUNDS || rounds.len() >= FEWEST && start > until {
            break;
        }
        plain.call(&mut *store, CALLS)?;
        let middle = clock.now();
        probed.call(&mut *store, CALLS)?;
        let end = clock.now();
        flush(store);
        let queue = &recorder.recording.outlet.queue;
        while let Some(message) = queue.try_take() {
            let Message::Block(block) = message else { continue };
            let (plain, probed) = (middle.saturating_sub(start), end.saturating_sub(middle));
            let round = Round { plain, probed, ..split(&block.bytes) };
            if cold > 0 {
                cold -= 1;
            } else if round.is_whole() {
                rounds.push(round);
            }
            queue.spare().put(block.bytes);
        }
    }
    Ok(rounds)
}

/// Splits a block's time into what passed before enters and what passed before leaves. What passed before the first event
/// is neither.
fn split(block: &[u8]) -> Round {
    let mut round = Round::default();
    let Some((_, words)) = BlockHeader::split(block) else { return round };
    let mut passed = 0;
    let mut first = true;
    for step in word::steps(words) {
        match step {
            Step::Passed(ticks) => passed += ticks,
            Step::Word(_, Effect::Opens(_)) => {
                round.calls += 1;
                round.outside += if std::mem::take(&mut first) { 0 } else { passed };
                passed = 0;
            }
            Step::Word(_, Effect::Closes) => {
                round.inside += passed;
                passed = 0;
            }
            Step::Word(..) => {}
        }
    }
    round
}

fn summarize(rounds: &[Round], clock: &Clock) -> Option<ProbeCost> {
    if rounds.len() < FEWEST {
        return None;
    }
    // Whatever disturbs a round makes it longer.
    let least = |field: fn(&Round) -> u64| rounds.iter().map(field).min().unwrap_or_default();
    let usual = least(|round| round.probed);
    let (inside, both) = rounds
        .iter()
        .filter(|round| round.probed <= usual + usual / 2)
        .fold((0, 0), |(inside, both), round| (inside + round.inside, both + round.inside + round.outside));
    let nanos = |ticks: u64| ticks as f64 * 1e9 / clock.ticks_per_second() / f64::from(CALLS);
    let probed = nanos(usual);
    let plain = nanos(least(|round| round.plain));
    // A clock that doesn't advance can't distinguish them.
    let inside_part = if both == 0 { 0.5 * (1.0 - plain / probed) } else { inside as f64 / both as f64 };
    let inside_nanos = (probed * inside_part).max(0.0);
    Some(ProbeCost { inside_nanos, outside_nanos: (probed - inside_nanos - plain).max(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::word::Word;
    use kperf_rewriter::{Filter, Options, Pattern, Recording, rewrite};

    const USUAL: Round =
        Round { calls: 7000, inside: 50_000, outside: 150_000, probed: 210_000, plain: 14_000 };

    /// With `BLESS=1` the modules are written anew.
    #[test]
    fn the_committed_modules_are_made_from_the_source() {
        let source = wat::parse_str(include_str!("calibrate.wat")).expect("calibrate.wat parses");
        for (recording, committed, file) in [
            (Recording::imported(), IMPORTING, "calibrate.wasm"),
            (Recording::inline(), INLINED, "calibrate.inline.wasm"),
        ] {
            let only = vec![Pattern::parse("probed_nothing").expect("a pattern")];
            let filter = Filter { only, ..Filter::default() };
            let options = Options { recording, filter, ..Options::default() };
            let made = code_alone(&rewrite(&source, &options).expect("a module").wasm);
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR")), &made)
                    .expect("write the module");
            } else {
                assert!(made == committed, "BLESS=1 cargo test renews {file}");
            }
        }
    }

    /// The module without custom sections, which contain the rewriter's version, but with branch hints.
    fn code_alone(wasm: &[u8]) -> Vec<u8> {
        let (mut kept, mut end) = (wasm[..8].to_vec(), 8);
        for payload in wasmparser::Parser::new(0).parse_all(wasm) {
            let payload = payload.expect("a module");
            let has_hints = matches!(
                &payload,
                wasmparser::Payload::CustomSection(section) if section.name() == "metadata.code.branch_hint"
            );
            if let Some((id, range)) = payload.as_section() {
                if id != 0 || has_hints {
                    kept.extend(&wasm[end..range.end as usize]);
                }
                end = range.end as usize;
            }
        }
        kept
    }

    #[test]
    fn a_block_is_split_at_its_events() {
        let mut block = BlockHeader::default().to_bytes().to_vec();
        let words =
            [Word::Time(90), Word::Enter(0), Word::Time(2), Word::Leave, Word::Time(5), Word::Enter(0)];
        block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
        let round = split(&block);
        assert_eq!((round.calls, round.inside, round.outside), (2, 2, 5));
    }

    #[test]
    fn rounds_that_were_interrupted_do_not_count() {
        let usual = USUAL;
        let mut rounds = vec![usual; 20];
        rounds[9] = Round { inside: 9_000_000, probed: 9_200_000, ..usual };
        // 30 ns a call, a quarter of it inside; a plain call takes 2 ns.
        let clock = Clock::new(ClockChoice::Test);
        assert_eq!(summarize(&rounds, &clock), Some(ProbeCost { inside_nanos: 7.5, outside_nanos: 20.5 }));
        assert_eq!(summarize(&rounds[..FEWEST - 1], &clock), None);
    }

    #[test]
    fn rounds_with_lost_calls_or_times_do_not_count() {
        assert!(USUAL.is_whole());
        assert!(!Round { outside: 40_000, ..USUAL }.is_whole());
        assert!(!Round { calls: 6999, ..USUAL }.is_whole());
        assert!(!Round { inside: 900_000, ..USUAL }.is_whole());
        // Its clock doesn't advance.
        assert!(Round { inside: 0, outside: 0, ..USUAL }.is_whole());
    }

    #[test]
    fn a_clock_that_stands_still_tells_the_cost_as_a_whole() {
        let rounds = [Round { inside: 0, outside: 0, ..USUAL }; FEWEST];
        let clock = Clock::new(ClockChoice::Test);
        assert_eq!(summarize(&rounds, &clock), Some(ProbeCost { inside_nanos: 14.0, outside_nanos: 14.0 }));
    }
}
