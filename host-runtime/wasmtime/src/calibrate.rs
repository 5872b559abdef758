//! Measures what a probe costs on this machine with this clock, so that reports can take it off.
//!
//! A function that does nothing is called with probes and without, through the recorder that guests will use; the difference is the
//! cost. The part of the time between enters and their leaves falls to the function itself; the rest, less a plain call,
//! falls to its caller. (How long it takes is read from the clock even where guests see a ticker: that may stand still for
//! a while, and there are few ticks. What they say is only how the time is split.)

use crate::clock::Clock;
use crate::queue::Message;
use crate::recorder::Recorder;
use kperf_abi::block::BlockHeader;
use kperf_abi::word::Word;
use kperf_trace::ProbeCost;
use std::sync::mpsc::Receiver;
use wasmtime::{Linker, Module, Store, TypedFunc};

/// Calls between two looks at the clock. With a time before every event they still fit one block: nobody takes blocks off
/// the queue meanwhile.
const CALLS: u32 = 7000;
/// How often that is done undisturbed. With the ticker each time sees about thirty ticks, all together some thousands: enough
/// to split by.
const ROUNDS: usize = 100;
/// How often it is tried for that on a busy machine, where the ticker's thread may not be run for milliseconds.
const TRIES: usize = 600;
/// With fewer undisturbed rounds nothing is said.
const FEWEST: usize = 10;
/// `calibrate.wat`, rewritten.
const IMPORTING: &[u8] = include_bytes!("calibrate.wasm");
const INLINED: &[u8] = include_bytes!("calibrate.inline.wasm");
/// The first rounds, in which code and pages are still cold, don't count.
const COLD: usize = 4;

/// Measures, before the recording's writer takes over the queue. `None` if that can't be done with this engine: its pool
/// may be too small, its limits too tight, or the machine too busy. Takes about ten milliseconds, on a busy machine up to
/// six times as long.
pub(crate) fn probe_cost(
    recorder: &Recorder,
    inlined: bool,
    messages: &Receiver<Message>,
) -> Option<ProbeCost> {
    let rounds = match if inlined { within(recorder, messages) } else { with_module(recorder, messages) } {
        Ok(rounds) => rounds,
        // An engine without shared memory: its guests will be recorded by host functions.
        Err(_) => with_host_functions(recorder, messages).ok()?,
    };
    summarize(&rounds, &recorder.recording.clock)
}

/// What one round took, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    calls: u64,
    /// Between enters and leaves, as recorded.
    inside: u64,
    /// Between leaves and enters, as recorded.
    outside: u64,
    /// All of it, by the clock.
    probed: u64,
    /// So many plain calls, by the clock.
    plain: u64,
}

impl Round {
    /// Whether as much time passed by the ticker as by the clock. It didn't while the ticker's thread was not run.
    fn is_whole(&self) -> bool {
        let recorded = self.inside + self.outside;
        self.calls == u64::from(CALLS) && recorded > self.probed / 2 && recorded < self.probed / 2 * 3
    }
}

fn with_module(recorder: &Recorder, messages: &Receiver<Message>) -> wasmtime::Result<Vec<Round>> {
    let mut store = Store::new(&recorder.recording.engine, ());
    let mut linker = Linker::new(store.engine());
    unlimit(&mut store);
    let lane = recorder.link(&mut store, &mut linker)?;
    measure(recorder, messages, &mut store, &linker, IMPORTING, |store| lane.flush(store))
}

fn within(recorder: &Recorder, messages: &Receiver<Message>) -> wasmtime::Result<Vec<Round>> {
    let mut store = Store::new(&recorder.recording.engine, ());
    let mut linker = Linker::new(store.engine());
    unlimit(&mut store);
    let inlined = recorder.link_inlined(&mut store, &mut linker)?;
    measure(recorder, messages, &mut store, &linker, INLINED, |store| inlined.flush(store))
}

fn with_host_functions(recorder: &Recorder, messages: &Receiver<Message>) -> wasmtime::Result<Vec<Round>> {
    let mut store = Store::new(&recorder.recording.engine, recorder.host_lane());
    let mut linker = Linker::new(store.engine());
    unlimit(&mut store);
    recorder.add_to_linker(&mut linker, |lane| lane)?;
    measure(recorder, messages, &mut store, &linker, IMPORTING, |store| store.data_mut().flush())
}

/// The engine may count fuel or epochs; this store shall have enough of both.
fn unlimit<T>(store: &mut Store<T>) {
    // An error says that fuel is not counted.
    let _ = store.set_fuel(u64::MAX);
    store.set_epoch_deadline(1 << 40);
}

fn measure<T: 'static>(
    recorder: &Recorder,
    messages: &Receiver<Message>,
    store: &mut Store<T>,
    linker: &Linker<T>,
    module: &[u8],
    flush: impl Fn(&mut Store<T>),
) -> wasmtime::Result<Vec<Round>> {
    let clock = &recorder.recording.clock;
    let module = Module::new(store.engine(), module)?;
    let instance = linker.instantiate(&mut *store, &module)?;
    let plain: TypedFunc<u32, u32> = instance.get_typed_func(&mut *store, "plain")?;
    let probed: TypedFunc<u32, u32> = instance.get_typed_func(&mut *store, "probed")?;
    let mut rounds = Vec::with_capacity(ROUNDS);
    for attempt in 0..TRIES {
        if rounds.len() == ROUNDS {
            break;
        }
        let start = clock.now();
        plain.call(&mut *store, CALLS)?;
        let middle = clock.now();
        probed.call(&mut *store, CALLS)?;
        let end = clock.now();
        flush(store);
        while let Ok(message) = messages.try_recv() {
            let Message::Block { block, .. } = message else { continue };
            let (plain, probed) = (middle.saturating_sub(start), end.saturating_sub(middle));
            let round = Round { plain, probed, ..split(&block) };
            if attempt >= COLD && round.is_whole() {
                rounds.push(round);
            }
            recorder.recording.queue.give_back(block);
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
    for word in words.as_chunks::<4>().0 {
        match Word::decode(u32::from_le_bytes(*word)) {
            Some(Word::Time(ticks)) => passed += u64::from(ticks),
            Some(Word::Enter(_)) => {
                round.calls += 1;
                round.outside += if std::mem::take(&mut first) { 0 } else { passed };
                passed = 0;
            }
            Some(Word::Leave) => {
                round.inside += passed;
                passed = 0;
            }
            _ => {}
        }
    }
    round
}

fn summarize(rounds: &[Round], clock: &Clock) -> Option<ProbeCost> {
    if rounds.len() < FEWEST {
        return None;
    }
    let usual = median(rounds, |round| round.probed);
    let (inside, both) = rounds
        .iter()
        // A round in which the thread was put aside says nothing of probes.
        .filter(|round| round.probed <= usual + usual / 2)
        .fold((0, 0), |(inside, both), round| (inside + round.inside, both + round.inside + round.outside));
    let nanos = |ticks: u64| ticks as f64 * 1e9 / clock.ticks_per_second() / f64::from(CALLS);
    let probed = nanos(usual);
    let plain = nanos(median(rounds, |round| round.plain));
    let inside_nanos = probed * inside as f64 / both as f64;
    Some(ProbeCost { inside_nanos, outside_nanos: (probed - inside_nanos - plain).max(0.0) })
}

fn median(rounds: &[Round], field: impl Fn(&Round) -> u64) -> u64 {
    let mut values: Vec<u64> = rounds.iter().map(field).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ClockChoice;
    use kperf_rewriter::{Filter, Options, Pattern, Probe, rewrite};

    /// With `BLESS=1` the modules are written anew.
    #[test]
    fn the_committed_modules_are_made_from_the_source() {
        let source = wat::parse_str(include_str!("calibrate.wat")).expect("calibrate.wat parses");
        for (probe, committed, file) in
            [(Probe::Import, IMPORTING, "calibrate.wasm"), (Probe::Inline, INLINED, "calibrate.inline.wasm")]
        {
            let only = vec![Pattern::parse("probed_nothing").expect("a pattern")];
            let filter = Filter { only, skip: Vec::new() };
            let options = Options { probe, filter, ..Options::default() };
            let made = without_custom_sections(&rewrite(&source, &options).expect("a module").wasm);
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR")), &made)
                    .expect("write the module");
            } else {
                assert!(made == committed, "BLESS=1 cargo test renews {file}");
            }
        }
    }

    /// The rewriter's version stands in them.
    fn without_custom_sections(wasm: &[u8]) -> Vec<u8> {
        let (mut kept, mut end) = (wasm[..8].to_vec(), 8);
        for payload in wasmparser::Parser::new(0).parse_all(wasm) {
            if let Some((id, range)) = payload.expect("a module").as_section() {
                if id != 0 {
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
        let usual = Round { calls: 7000, inside: 50_000, outside: 150_000, probed: 210_000, plain: 14_000 };
        let mut rounds = vec![usual; 20];
        rounds[9] = Round { inside: 9_000_000, probed: 9_200_000, ..usual };
        // 30 ns a call, a quarter of it inside; a plain call takes 2 ns.
        let clock = Clock::new(ClockChoice::Test);
        assert_eq!(summarize(&rounds, &clock), Some(ProbeCost { inside_nanos: 7.5, outside_nanos: 20.5 }));
        assert_eq!(summarize(&rounds[..FEWEST - 1], &clock), None);
    }

    #[test]
    fn rounds_in_which_the_ticker_stood_still_are_not_whole() {
        let usual = Round { calls: 7000, inside: 50_000, outside: 150_000, probed: 210_000, plain: 14_000 };
        assert!(usual.is_whole());
        assert!(!Round { inside: 0, outside: 0, ..usual }.is_whole());
        assert!(!Round { outside: 40_000, ..usual }.is_whole());
        assert!(!Round { calls: 6999, ..usual }.is_whole());
        // It stood still before, and caught up.
        assert!(!Round { inside: 900_000, ..usual }.is_whole());
    }
}
