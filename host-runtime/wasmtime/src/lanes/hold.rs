//! Raises a block's times to a minimum.

use kperf_abi::block::{BlockHeader, HEADER_LEN};
use kperf_abi::word::{TIME, Word};

/// Raises all times in a block, in ticks, to at least `moment`: the clock's time at the end of the previous
/// lane with this number. A ticker's time may be older.
pub(crate) fn until(block: &mut [u8], moment: u64) {
    let Some((header, _)) = BlockHeader::split(block) else { return };
    let mut lag = moment.saturating_sub(header.start_ticks);
    if lag == 0 {
        return;
    }
    let held = BlockHeader { start_ticks: moment, ..header };
    block[..HEADER_LEN].copy_from_slice(&held.to_bytes());
    let (words, _) = block[HEADER_LEN..].as_chunks_mut::<4>();
    let mut words = words.iter_mut();
    while let Some(word) = words.next() {
        match Word::decode(u32::from_le_bytes(*word)) {
            Some(Word::Time(ticks)) => {
                let taken = lag.min(ticks.into());
                *word = (TIME | (ticks - taken as u32)).to_le_bytes();
                lag -= taken;
            }
            Some(Word::WideTime) => {
                let (Some(low), Some(high)) = (words.next(), words.next()) else { return };
                let ticks = u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << 32;
                let taken = lag.min(ticks);
                let left = ticks - taken;
                *low = (left as u32).to_le_bytes();
                *high = ((left >> 32) as u32).to_le_bytes();
                lag -= taken;
            }
            _ => continue,
        }
        if lag == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::state::RecorderState;

    fn block(words: &[u32]) -> Vec<u8> {
        let mut block = BlockHeader { stack: 0, depth: 0, start_ticks: 100 }.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        block
    }

    #[test]
    fn times_stand_still_until_the_moment() {
        let words = [1, TIME | 30, Word::Leave.encode(), Word::WideTime.encode(), 50, 0, 2, TIME | 40];
        // The time after each prefix: the original one, and the one raised to at least 160.
        for (count, was, held) in [(1, 100, 160), (2, 130, 160), (6, 180, 180), (8, 220, 220)] {
            let mut block = block(&words[..count]);
            let last = |block: &[u8]| RecorderState::after(block, |_| 0).map(|state| state.last);
            assert_eq!(last(&block), Some(was));
            until(&mut block, 160);
            assert_eq!(last(&block), Some(held), "{count}");
        }
        let mut whole = block(&words);
        for moment in [0, 99, 100] {
            until(&mut whole, moment);
            assert_eq!(whole, block(&words));
        }
        until(&mut whole, u64::MAX);
        assert_eq!(RecorderState::after(&whole, |_| 0).map(|state| state.last), Some(u64::MAX));
        until(&mut [0; 7], 5);
    }
}
