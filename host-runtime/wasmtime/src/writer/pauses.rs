//! Inserts pauses: how long the guest's thread worked for the recorder, or had no processor.
//!
//! The guest can't write them: they happen between two of its events. So the writer inserts a pause after the first time that follows
//! the pause's beginning.

use crate::outlet::queue::Pause;
use kperf_abi::block::BlockHeader;
use kperf_abi::word::{MAX_FUNC_ID, MAX_PAYLOAD, TIME, WIDE_TIME, Wait, Waited, Word};

/// Inserts the pauses that begin before a block's end, and takes these off the list.
pub(super) fn put(block: &mut Vec<u8>, pauses: &mut Vec<Pause>) {
    let Some((header, words)) = BlockHeader::split(block).filter(|_| !pauses.is_empty()) else { return };
    sort(pauses);
    let front = block.len() - words.len();
    let mut added: Vec<(usize, u64, Option<Wait>)> = Vec::new();
    let mut left = pauses.iter_mut().peekable();
    for time in Times::of(header.start_ticks, words) {
        while let Some(first) = left.peek_mut().filter(|first| first.start < time.then) {
            // An event may have the time of an old tick.
            let paused = first.end.min(time.then).saturating_sub(first.start.max(time.before));
            if paused > 0 {
                added.push((front + time.end, paused, first.wait));
            }
            if first.end > time.then {
                first.start = time.then;
                break;
            }
            left.next();
        }
        if left.peek().is_none() {
            break;
        }
    }
    let rest = left.len();
    pauses.drain(..pauses.len() - rest);
    insert(block, &added);
}

/// Sorts pauses by time, and cuts off what two have in common. Others' use of the processor is theirs; what the thread waited itself
/// while it worked for the recorder is the recorder's.
fn sort(pauses: &mut Vec<Pause>) {
    let rank = |pause: &Pause| match pause.wait {
        Some(Wait::Processor | Wait::Estimated) => 2,
        None => 1,
        Some(Wait::Own) => 0,
    };
    pauses.sort_by_key(|pause| pause.start);
    let mut sorted: Vec<Pause> = Vec::with_capacity(pauses.len());
    for mut pause in pauses.drain(..) {
        let mut rest = None;
        if let Some(last) = sorted.last_mut().filter(|last| pause.start < last.end) {
            if rank(&pause) > rank(last) {
                rest = Some(Pause { start: pause.end, ..*last });
                last.end = pause.start;
            } else {
                pause.start = last.end;
            }
        }
        sorted.extend([Some(pause), rest].into_iter().flatten().filter(|pause| pause.start < pause.end));
    }
    *pauses = sorted;
}

/// Inserts the words of pauses at places of a block, which are in order.
fn insert(block: &mut Vec<u8>, added: &[(usize, u64, Option<Wait>)]) {
    let words = added.iter().map(|&(at, ticks, wait)| (at, words_of(ticks, wait)));
    let words: Vec<(usize, Vec<u8>)> = words.collect();
    let (mut from, mut to) =
        (block.len(), block.len() + words.iter().map(|(_, words)| words.len()).sum::<usize>());
    block.resize(to, 0);
    for (at, words) in words.iter().rev() {
        to -= from - at;
        block.copy_within(*at..from, to);
        from = *at;
        to -= words.len();
        block[to..to + words.len()].copy_from_slice(words);
    }
}

/// The words of one pause.
fn words_of(ticks: u64, wait: Option<Wait>) -> Vec<u8> {
    let bytes = |word: Word| word.encode().to_le_bytes();
    if let Some(wait) = wait {
        return Waited::parts(wait, ticks).flat_map(|part| bytes(Word::Wait(part))).collect();
    }
    let (most, rest) = (ticks / u64::from(MAX_PAYLOAD), ticks % u64::from(MAX_PAYLOAD));
    let parts = (0..most).map(|_| MAX_PAYLOAD).chain((rest > 0).then_some(rest as u32));
    parts.flat_map(|part| bytes(Word::Pause(part))).collect()
}

/// A time word of a block.
struct Time {
    /// The times before and after it, in ticks.
    before: u64,
    then: u64,
    /// Where it ends among the block's words, in bytes.
    end: usize,
}

/// The time words of a block.
struct Times<'a> {
    words: &'a [[u8; 4]],
    at: usize,
    now: u64,
}

impl<'a> Times<'a> {
    fn of(start_ticks: u64, words: &'a [u8]) -> Times<'a> {
        Times { words: words.as_chunks().0, at: 0, now: start_ticks }
    }
}

impl Iterator for Times<'_> {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        let word = |at: usize| self.words.get(at).map(|word| u32::from_le_bytes(*word));
        self.at += 1 + self.words.get(self.at..)?.iter().position(tells_time)?;
        let passed = match word(self.at - 1).and_then(Word::decode)? {
            Word::Time(ticks) => u64::from(ticks),
            _ => {
                let (low, high) = (word(self.at)?, word(self.at + 1)?);
                self.at += 2;
                u64::from(low) | u64::from(high) << 32
            }
        };
        let before = self.now;
        self.now = before.saturating_add(passed);
        Some(Time { before, then: self.now, end: 4 * self.at })
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
        of.iter().map(|&[start, end]| Pause { start, end, wait: None }).collect()
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
    fn waits_cut_pauses_and_each_tick_counts_once() {
        let of = |start, end, wait| Pause { start, end, wait };
        let (ready, own) = (Some(Wait::Processor), Some(Wait::Own));
        let mut all = vec![of(100, 200, None), of(60, 90, own), of(120, 130, ready), of(140, 150, own)];
        all.extend([of(190, 210, ready), of(220, 225, ready)]);
        sort(&mut all);
        let expected = [
            of(60, 90, own),
            of(100, 120, None),
            of(120, 130, ready),
            of(130, 190, None),
            of(190, 210, ready),
            of(220, 225, ready),
        ];
        assert_eq!(all, expected);
        let words = [Word::Time(20), Word::Enter(1), Word::Time(200), Word::Leave];
        let mut bytes = block(&words);
        put(&mut bytes, &mut all);
        let wait = |wait, ticks| Waited::parts(wait, ticks).map(Word::Wait).collect::<Vec<_>>();
        let [of_10, of_5] = [10, 5].map(|ticks| wait(Wait::Processor, ticks));
        let of_20 = wait(Wait::Processor, 20);
        let before = [Word::Time(20), Word::Pause(20), Word::Enter(1), Word::Time(200)];
        let expected = [&before[..], &of_10, &[Word::Pause(60)], &of_20, &of_5, &[Word::Leave]].concat();
        assert_eq!(bytes, block(&expected));
        assert!(all.is_empty());
    }

    #[test]
    fn a_long_pause_takes_several_words() {
        let long = u64::from(MAX_PAYLOAD) + 3;
        let mut bytes = block(&[Word::WideTime]);
        bytes.extend((long + 1).to_le_bytes());
        let before = bytes.clone();
        let mut left = pauses(&[[100, 100 + long]]);
        put(&mut bytes, &mut left);
        let words = [Word::Pause(MAX_PAYLOAD), Word::Pause(3)].map(|word| word.encode().to_le_bytes());
        assert_eq!(bytes, [before, words.concat()].concat());
        assert!(left.is_empty());
        // Cut off.
        let mut cut = block(&[Word::WideTime, Word::Leave]);
        put(&mut cut, &mut pauses(&[[100, 101]]));
        assert_eq!(cut, block(&[Word::WideTime, Word::Leave]));
    }
}
