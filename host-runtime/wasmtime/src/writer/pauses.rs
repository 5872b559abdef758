//! Inserts pauses: how long the guest's thread worked for the recorder, or waited for it.
//!
//! The host does this work between two blocks of a lane. So the writer inserts the pause into the later block, after the first
//! time that follows the pause's beginning.

use crate::outlet::queue::Pause;
use kperf_abi::block::BlockHeader;
use kperf_abi::word::{MAX_FUNC_ID, MAX_PAYLOAD, TIME, WIDE_TIME, Word};

/// Inserts the pauses that begin before a block's end, and takes these off the list.
pub(super) fn put(block: &mut Vec<u8>, pauses: &mut Vec<Pause>) {
    let Some((header, words)) = BlockHeader::split(block).filter(|_| !pauses.is_empty()) else { return };
    let front = block.len() - words.len();
    let mut added: Vec<(usize, u64)> = Vec::new();
    let mut now = header.start_ticks;
    let (words, _) = words.as_chunks::<4>();
    let word = |at: usize| words.get(at).map(|word| u32::from_le_bytes(*word));
    let mut at = 0;
    while let Some(first) = pauses.first_mut() {
        let rest = words.get(at..).unwrap_or_default();
        let Some(skipped) = rest.iter().position(tells_time) else { break };
        at += skipped + 1;
        let passed = match word(at - 1).and_then(Word::decode) {
            Some(Word::Time(ticks)) => u64::from(ticks),
            Some(Word::WideTime) => {
                let (Some(low), Some(high)) = (word(at), word(at + 1)) else { break };
                at += 2;
                u64::from(low) | u64::from(high) << 32
            }
            _ => continue,
        };
        let then = now.saturating_add(passed);
        let mut pause = Some(first);
        while let Some(first) = pause.take().filter(|first| first.start < then) {
            // An event may have the time of an old tick.
            let paused = first.end.min(then).saturating_sub(first.start.max(now));
            if paused > 0 {
                added.push((front + 4 * at, paused));
            }
            if first.end > then {
                first.start = then;
                break;
            }
            pauses.remove(0);
            pause = pauses.first_mut();
        }
        now = then;
    }
    for (at, mut paused) in added.into_iter().rev() {
        while paused > 0 {
            let part = paused.min(MAX_PAYLOAD.into());
            block.splice(at..at, Word::Pause(part as u32).encode().to_le_bytes());
            paused -= part;
        }
    }
}

/// Whether a word is a time, or the first of a wide one's. Few are.
fn tells_time(word: &[u8; 4]) -> bool {
    let word = u32::from_le_bytes(*word);
    word & !MAX_FUNC_ID == TIME || word == WIDE_TIME
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(words: &[Word]) -> Vec<u8> {
        let mut block = BlockHeader { stack: 0, depth: 1, start_ticks: 100 }.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
        block
    }

    fn pauses(of: &[[u64; 2]]) -> Vec<Pause> {
        of.iter().map(|&[start, end]| Pause { start, end }).collect()
    }

    #[test]
    fn a_pause_stands_behind_the_time_that_passes_it() {
        let mut bytes = block(&[Word::Leave, Word::Time(5), Word::Enter(1), Word::Time(95), Word::Leave]);
        let mut left = pauses(&[[90, 104], [110, 150], [160, 165], [190, 260]]);
        put(&mut bytes, &mut left);
        let [first, second, third, fourth] = [4, 40, 5, 10].map(Word::Pause);
        let words = [Word::Leave, Word::Time(5), first, Word::Enter(1), Word::Time(95)];
        let words = [&words[..], &[second, third, fourth, Word::Leave]].concat();
        assert_eq!(bytes, block(&words));
        // The rest of the last one is in a later block.
        assert_eq!(left, pauses(&[[200, 260]]));
    }

    #[test]
    fn a_long_pause_takes_several_words() {
        let long = u64::from(MAX_PAYLOAD) + 3;
        let mut bytes = block(&[Word::WideTime]);
        bytes.extend((long + 1).to_le_bytes());
        let before = bytes.clone();
        let mut left = pauses(&[[100, 100 + long]]);
        put(&mut bytes, &mut left);
        let words = [Word::Pause(3), Word::Pause(MAX_PAYLOAD)].map(|word| word.encode().to_le_bytes());
        assert_eq!(bytes, [before, words.concat()].concat());
        assert!(left.is_empty());
        // Cut off.
        let mut cut = block(&[Word::WideTime, Word::Leave]);
        put(&mut cut, &mut pauses(&[[100, 101]]));
        assert_eq!(cut, block(&[Word::WideTime, Word::Leave]));
    }
}
