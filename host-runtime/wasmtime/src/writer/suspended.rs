//! Inserts calls of `[suspended]` for the time in which asynchronous calls waited.
//!
//! A suspended guest writes nothing, and its host can't write for it: the waiting future has borrowed the store. So the
//! host notes the times, and the writer inserts the calls into the guest's words, before the first time after a
//! suspension's beginning.

use crate::outlet::queue::Suspension;
use kperf_abi::block::{BlockHeader, HEADER_LEN};
use kperf_abi::symbols::{ModuleIdentity, Symbol};
use kperf_abi::word::{self, Effect, MAX_FUNC_ID, Step, TIME_LIMIT, Word};
use kperf_abi::{FuncId, FuncIndex, SymbolTable};

/// The function's id. No module has it: see `recording::ids`.
pub(crate) const SUSPENDED: u32 = MAX_FUNC_ID - 1;

/// The symbol table that names it.
pub(super) fn table() -> Vec<u8> {
    let symbol = Symbol {
        id: FuncId(SUSPENDED),
        func_index: FuncIndex(0),
        name: "[suspended]".into(),
        imported: true,
        ..Symbol::default()
    };
    let module = ModuleIdentity { name: "host".into(), ..ModuleIdentity::default() };
    SymbolTable { module, id_base: SUSPENDED, symbols: vec![symbol], ..SymbolTable::default() }.to_bytes()
}

/// Inserts calls into a block for the suspensions that begin before its end, and takes these off the list. Inserts none while no
/// call of the guest is open. Returns the new block; `None` if nothing changes.
pub(super) fn put(block: &[u8], suspensions: &mut Vec<Suspension>) -> Option<Vec<u8>> {
    let (header, words) = BlockHeader::split(block).filter(|_| !suspensions.is_empty())?;
    let mut out = block[..HEADER_LEN].to_vec();
    let mut now = header.start_ticks;
    // The depth of a stack that was switched to is unknown here.
    let mut depth = Some(header.depth);
    let mut next = 0;
    let mut is_changed = false;
    for step in word::steps(words) {
        let passed = match step {
            Step::Passed(ticks) => ticks,
            Step::Word(word, effect) => {
                depth = match effect {
                    Effect::Opens(_) => depth.map(|depth| depth.saturating_add(1)),
                    Effect::Closes => depth.map(|depth| depth.saturating_sub(1)),
                    Effect::ClosesTo(to) => depth.map(|depth| depth.min(to)),
                    Effect::Switches(_) => None,
                    Effect::Nothing => depth,
                };
                out.extend(word.to_le_bytes());
                continue;
            }
        };
        let then = now.saturating_add(passed);
        while let Some(suspension) = suspensions.get(next).filter(|suspension| suspension.start < then) {
            next += 1;
            // A ticker's time may be behind.
            let (start, end) = (suspension.start.max(now), suspension.end.min(then));
            if start < end && depth.is_some_and(|depth| depth > 0) {
                put_time(&mut out, start - now);
                out.extend(Word::Enter(SUSPENDED).encode().to_le_bytes());
                put_time(&mut out, end - start);
                out.extend(Word::Leave.encode().to_le_bytes());
                now = end;
                is_changed = true;
            }
        }
        put_time(&mut out, then - now);
        now = then;
    }
    suspensions.drain(..next);
    is_changed.then_some(out)
}

/// Whether a block of slow calls has such a call.
pub(super) fn is_in(block: &[u8]) -> bool {
    let enter = Word::Enter(SUSPENDED).encode().to_le_bytes();
    block.get(HEADER_LEN..).is_some_and(|words| words.as_chunks::<4>().0.contains(&enter))
}

fn put_time(out: &mut Vec<u8>, ticks: u64) {
    match u32::try_from(ticks) {
        Ok(0) => {}
        Ok(short) if ticks < TIME_LIMIT => out.extend(Word::Time(short).encode().to_le_bytes()),
        _ => {
            out.extend(Word::WideTime.encode().to_le_bytes());
            out.extend(ticks.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(depth: u32, words: &[Word]) -> Vec<u8> {
        let mut block = BlockHeader { stack: 0, depth, start_ticks: 100 }.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
        block
    }

    fn suspensions(of: &[[u64; 2]]) -> Vec<Suspension> {
        of.iter().map(|&[start, end]| Suspension { start, end }).collect()
    }

    const CALL: Word = Word::Enter(SUSPENDED);

    #[test]
    fn a_suspension_is_a_call_inside_of_what_is_open() {
        let before = [Word::Time(5), Word::Enter(1), Word::Time(100), Word::Leave, Word::Time(5)];
        let mut waits = suspensions(&[[110, 150], [160, 205], [300, 400]]);
        let after = [
            Word::Time(5),
            Word::Enter(1),
            Word::Time(5),
            CALL,
            Word::Time(40),
            Word::Leave,
            Word::Time(10),
            CALL,
            Word::Time(45),
            Word::Leave,
            Word::Leave,
            Word::Time(5),
        ];
        assert_eq!(put(&block(0, &before), &mut waits), Some(block(0, &after)));
        // Its call is in a later block.
        assert_eq!(waits, suspensions(&[[300, 400]]));
        let mut long = block(1, &[Word::WideTime]);
        long.extend(TIME_LIMIT.to_le_bytes());
        let put = put(&long, &mut waits).expect("it is in that time");
        assert_eq!(put[HEADER_LEN..][..4], Word::Time(200).encode().to_le_bytes());
        assert!(waits.is_empty());
    }

    #[test]
    fn a_suspension_outside_of_all_calls_is_nobody_s() {
        let words = [Word::Time(50), Word::Enter(1), Word::Switch(2), Word::Time(10), Word::Leave];
        let mut waits = suspensions(&[[110, 120], [151, 152]]);
        assert_eq!(put(&block(0, &words), &mut waits), None);
        assert_eq!(waits, []);
    }

    #[test]
    fn the_function_has_a_name() {
        let table = SymbolTable::from_bytes(&table()).expect("a table");
        assert_eq!((&*table.symbols[0].name, table.id_base), ("[suspended]", SUSPENDED));
    }
}
