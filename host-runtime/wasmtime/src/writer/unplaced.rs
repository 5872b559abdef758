//! Guesses the places of waits of which only the sums are known.

use crate::clock::unplaced::UnplacedTicks;
use crate::outlet::queue::Pause;
use kperf_abi::block::BlockHeader;
use kperf_abi::word::{self, Effect, Step, Wait};
use std::cmp::Reverse;

/// The time between two events, as far as no wait has it.
struct Gap {
    start: u64,
    end: u64,
    of: Owner,
}

/// Who a gap is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The innermost open call.
    Call,
    /// The host: no call was open.
    Host,
    /// The next block: it is after this one's last event.
    Later,
}

/// Places waits where a block's events are furthest apart: first the thread's own, which are the longest. Between calls these are the
/// host's, and get no place. Returns those that were most likely after the block's last event.
pub(super) fn place(block: &[u8], unplaced: UnplacedTicks, pauses: &mut Vec<Pause>) -> UnplacedTicks {
    let UnplacedTicks { processor, own, until } = unplaced;
    let mut later = UnplacedTicks { until, ..UnplacedTicks::default() };
    let Some((header, words)) = BlockHeader::split(block).filter(|_| processor > 0 || own > 0) else {
        return later;
    };
    let mut gaps = gaps(header, words, until);
    take(&mut gaps, own, |gap, part| {
        match gap.of {
            Owner::Call => {
                pauses.push(Pause { start: gap.start, end: gap.start + part, wait: Some(Wait::Own) });
            }
            Owner::Host => {}
            Owner::Later => later.own = part,
        }
        gap.start += part;
    });
    take(&mut gaps, processor, |gap, part| match gap.of {
        Owner::Call | Owner::Host => {
            pauses.push(Pause { start: gap.end - part, end: gap.end, wait: Some(Wait::Estimated) });
        }
        Owner::Later => later.processor = part,
    });
    later
}

/// Shares `ticks` out among the largest gaps.
fn take(gaps: &mut [Gap], ticks: u64, mut put: impl FnMut(&mut Gap, u64)) {
    let mut left = ticks;
    if left > 0 {
        gaps.sort_by_key(|gap| Reverse(gap.end - gap.start));
    }
    for gap in gaps {
        let part = left.min(gap.end - gap.start);
        if part == 0 {
            break;
        }
        put(gap, part);
        left -= part;
    }
}

/// The gaps of a block, and the one after it until this time.
fn gaps(header: BlockHeader, words: &[u8], until: u64) -> Vec<Gap> {
    let (mut now, mut depth, mut gaps) = (header.start_ticks, header.depth, Vec::new());
    for step in word::steps(words) {
        match step {
            Step::Passed(ticks) => {
                let end = now.saturating_add(ticks);
                let of = if depth > 0 { Owner::Call } else { Owner::Host };
                gaps.push(Gap { start: now, end, of });
                now = end;
            }
            Step::Word(_, Effect::Opens(_)) => depth = depth.saturating_add(1),
            Step::Word(_, Effect::Closes) => depth = depth.saturating_sub(1),
            Step::Word(_, Effect::ClosesTo(open)) => depth = depth.min(open),
            // How many calls another stack has isn't in the block.
            Step::Word(_, Effect::Switches(_)) => depth = depth.max(1),
            Step::Word(_, Effect::Nothing) => {}
        }
    }
    gaps.push(Gap { start: now, end: until.max(now), of: Owner::Later });
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::word::Word;

    fn block(depth: u32, words: &[Word]) -> Vec<u8> {
        let mut block = BlockHeader { stack: 0, depth, start_ticks: 100 }.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
        block
    }

    #[test]
    fn waits_without_a_place_are_in_the_largest_gaps() {
        let words =
            [Word::Time(30), Word::Enter(1), Word::Time(50), Word::Leave, Word::Time(40), Word::Leave];
        let place = |processor| {
            let unplaced = UnplacedTicks { processor, ..UnplacedTicks::default() };
            let mut placed = Vec::new();
            assert_eq!(super::place(&block(1, &words), unplaced, &mut placed), UnplacedTicks::default());
            placed
        };
        let guess = |start, end| Pause { start, end, wait: Some(Wait::Estimated) };
        assert_eq!(place(60), [guess(130, 180), guess(210, 220)]);
        assert_eq!(place(1_000).iter().map(|pause| pause.end - pause.start).sum::<u64>(), 120);
    }

    #[test]
    fn own_waits_are_in_the_largest_gaps_of_calls() {
        let words = [
            Word::Time(500),
            Word::Enter(1),
            Word::Time(50),
            Word::Enter(2),
            Word::Time(80),
            Word::Leave,
            Word::Time(10),
            Word::Leave,
        ];
        let place = |own, until, processor| {
            let mut placed = Vec::new();
            let unplaced = UnplacedTicks { own, until, processor };
            let left = super::place(&block(0, &words), unplaced, &mut placed);
            let pauses = placed.iter().map(|pause| (pause.start, pause.end)).collect::<Vec<_>>();
            (pauses, [left.own, left.processor])
        };
        // The first 500 were the host's.
        assert_eq!(place(400, 740, 0), (vec![], [0, 0]));
        assert_eq!(place(600, 740, 0), (vec![(650, 730), (600, 620)], [0, 0]));
        // Both kinds have places of their own.
        assert_eq!(place(570, 740, 60), (vec![(650, 720), (600, 650), (720, 730)], [0, 0]));
        // The time after the last event is the largest gap: a thread that waits has no event.
        assert_eq!(place(900, 1_640, 20), (vec![(580, 600)], [900, 0]));
        assert_eq!(place(1_000, 740, 0).1, [0, 0]);
    }
}
