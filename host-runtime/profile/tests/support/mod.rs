//! Traces from a few words of text.
//!
//! ```text
//! main{ step{ 10 } 5 }     main calls step, which takes 10 ticks; 5 ticks later main leaves
//! trap>1 caught>0          an unwind: frames deeper than that are closed
//! mark=7 stack=3           a mark; a switch to another stack
//! 9 pause=4                4 of these 9 ticks were the recorder's
//! 9 wait=4 own=2 guess=1   as waits: for a processor, of the thread's own, for a processor by a guess
//! ```

#![allow(dead_code, unreachable_pub, reason = "a part of every test, none of which uses all of it")]

use kperf_abi::block::BlockHeader;
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::word::{self, WAIT_ID, Wait, Waited, Word};
use kperf_abi::{FuncId, FuncIndex, Source, Symbol, SymbolTable};
use kperf_profile::Symbols;
use kperf_trace::{Batch, Event, Header, LaneId, Reason, Summary, TimedEvent, TraceReader, TraceWriter};
use std::num::NonZeroU32;

/// Names become ids in the order in which they are first used, from 1.
#[derive(Default)]
pub struct Names(pub Vec<String>);

impl Names {
    pub fn id(&mut self, name: &str) -> u32 {
        let known = self.0.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.0.push(name.into());
            self.0.len() - 1
        });
        index as u32 + 1
    }

    pub fn table(&self) -> SymbolTable {
        let symbol = |(name, id): (&String, u32)| Symbol {
            id: FuncId(id),
            func_index: FuncIndex(id),
            name: name.as_str().into(),
            source: (name == "step").then_some(Source { file: 0, line: 17 }),
            ..Symbol::default()
        };
        let module = ModuleIdentity { name: "test".into(), ..ModuleIdentity::default() };
        let symbols = self.0.iter().zip(1..).map(symbol).collect();
        SymbolTable {
            module,
            id_base: 1,
            symbols,
            files: vec!["src/life.rs".into()],
            ..SymbolTable::default()
        }
    }

    pub fn symbols(&self) -> Symbols {
        let mut symbols = Symbols::default();
        symbols.add(self.table());
        symbols
    }
}

/// The words of a script, each with the ticks that pass before it.
fn words(names: &mut Names, script: &str) -> Vec<(u64, Word)> {
    let mut passed = 0;
    let mut words = Vec::new();
    for token in script.split_whitespace() {
        if let Ok(ticks) = token.parse::<u64>() {
            passed += ticks;
            continue;
        }
        let number = |text: &str| text.parse::<u32>().expect("a number");
        let word = if token == "waits{" {
            Word::Enter(WAIT_ID)
        } else if let Some(name) = token.strip_suffix('{') {
            Word::Enter(names.id(name))
        } else if token == "}" {
            Word::Leave
        } else if let Some((reason, depth)) = token.split_once('>') {
            let reason = match reason {
                "caught" => Reason::Caught,
                "trap" => Reason::Trap,
                "exit" => Reason::Exit,
                "unfinished" => Reason::Unfinished,
                _ => panic!("no reason: {reason}"),
            };
            Word::Unwind { depth: number(depth), reason }
        } else if let Some(("mark", value)) = token.split_once('=') {
            Word::Mark(number(value))
        } else if let Some(("pause", ticks)) = token.split_once('=') {
            Word::Pause(number(ticks))
        } else if let Some((wait @ ("wait" | "own" | "guess"), ticks)) = token.split_once('=') {
            let wait = match wait {
                "wait" => Wait::Processor,
                "own" => Wait::Own,
                _ => Wait::Estimated,
            };
            let mut parts = Waited::parts(wait, number(ticks).into());
            Word::Wait(parts.next().expect("more than 0 ticks"))
        } else if let Some(("stack", stack)) = token.split_once('=') {
            Word::Switch(number(stack))
        } else {
            panic!("no such token: {token}")
        };
        words.push((std::mem::take(&mut passed), word));
    }
    words
}

/// The events of a script, `lost=N` and `lost=?` among them, for one lane.
pub fn events(names: &mut Names, start_ticks: u64, script: &str) -> Vec<TimedEvent> {
    let mut events = Vec::new();
    let mut rest = script.trim();
    while let Some(lost) = rest.strip_prefix("lost=") {
        let (count, others) = lost.split_once(' ').unwrap_or((lost, ""));
        let lost = count.parse().ok().and_then(NonZeroU32::new);
        events.push(TimedEvent { ticks: start_ticks, event: Event::Lost { events: lost } });
        rest = others.trim_start();
    }
    let mut ticks = start_ticks;
    for (passed, word) in words(names, rest) {
        ticks += passed;
        let event = match word {
            Word::Enter(id) => Event::Enter(FuncId(id)),
            Word::Leave => Event::Leave,
            Word::Unwind { depth, reason } => Event::Unwind { depth, reason },
            Word::Mark(value) => Event::Mark(value),
            Word::Pause(ticks) => Event::Pause(ticks),
            Word::Wait(waited) => Event::Wait(waited),
            other => panic!("not an event: {other:?}"),
        };
        events.push(TimedEvent { ticks, event });
    }
    events
}

/// A batch of lane `recorder`.
pub fn batch(recorder: u32, depth: u32, start_ticks: u64, events: &[TimedEvent]) -> Batch<'_> {
    Batch { lane: LaneId { recorder, stack: 0 }, depth, start_ticks, elsewhere: 0, events }
}

/// A block as a recorder would hand it over.
pub fn block(names: &mut Names, header: BlockHeader, script: &str) -> Vec<u8> {
    let mut bytes = header.to_bytes().to_vec();
    let mut put = |word: u32| bytes.extend(word.to_le_bytes());
    for (passed, word) in words(names, script) {
        match passed {
            0 => {}
            1..word::TIME_LIMIT => put(Word::Time(passed as u32).encode()),
            _ => {
                put(Word::WideTime.encode());
                put(passed as u32);
                put((passed >> 32) as u32);
            }
        }
        put(word.encode());
    }
    bytes
}

/// A whole trace in the test clock's nanoseconds: for each block its recorder, header and script.
pub fn trace(blocks: &[(u32, BlockHeader, &str)], summary: Option<&Summary>) -> Vec<u8> {
    trace_with(&Header::default(), blocks, summary)
}

/// The same with a header of one's own.
pub fn trace_with(
    header: &Header,
    blocks: &[(u32, BlockHeader, &str)],
    summary: Option<&Summary>,
) -> Vec<u8> {
    let mut names = Names::default();
    let blocks: Vec<_> = blocks
        .iter()
        .map(|&(recorder, header, script)| (recorder, block(&mut names, header, script)))
        .collect();
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, header).expect("to memory");
    writer.symbols(&names.table().to_bytes()).expect("to memory");
    for (recorder, block) in &blocks {
        writer.block(*recorder, block).expect("to memory");
    }
    match summary {
        Some(summary) => _ = writer.finish(summary).expect("to memory"),
        None => drop(writer),
    }
    file
}

/// A trace of one block that begins with nothing.
pub fn simple(script: &str) -> Vec<u8> {
    trace(&[(0, BlockHeader::default(), script)], Some(&completed()))
}

pub fn completed() -> Summary {
    Summary { outcome: "completed".into(), ..Summary::default() }
}

pub fn reader(bytes: &[u8]) -> TraceReader<&[u8]> {
    TraceReader::new(bytes).expect("a trace")
}

/// Numbers that look random and are the same every time (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
