//! LZ4 blocks, packed and unpacked piece by piece.
//!
//! - A symbol table may have a hundred megabytes. It is never unpacked as a whole in memory.
//! - A block is a list of sequences: literals, and then a copy of earlier bytes, at most 65,535 bytes back.
//!
//! Source: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>.

/// The greatest distance of a copy, in bytes.
const REACH: usize = (1 << 16) - 1;
/// Bytes to pack or unpack at once.
const PIECE: usize = 1 << 18;
/// The shortest copy, in bytes.
const SHORTEST: usize = 4;
/// A copy begins at least `LAST_COPY` bytes before the end of a block. The last `LAST_LITERALS` bytes are
/// literals.
const LAST_COPY: usize = 12;
const LAST_LITERALS: usize = 5;
/// The number of bits in a hash of four bytes.
const HASH_BITS: u32 = 14;
/// The greatest number of bytes to skip at once where nothing repeats.
const MOST_SKIPPED: usize = 15;

/// Packs a block, after its size.
pub(super) struct Packer {
    packed: Vec<u8>,
    /// The bytes that copies may repeat, and then the bytes to pack.
    buffer: Vec<u8>,
    /// How many bytes came before the buffer.
    before: usize,
    /// The start in the buffer of the literals that are not written yet.
    literals: usize,
    /// The position in the buffer to examine next.
    at: usize,
    /// By the hash of four bytes: 1 + their last position, counted from the first byte of all; 0 for none.
    seen: Vec<u32>,
}

impl Packer {
    /// A packer that begins its output with `front`, before the block's size.
    pub(super) fn new(front: &[u8]) -> Packer {
        let mut packed = front.to_vec();
        packed.extend([0; 4]);
        let seen = vec![0; 1 << HASH_BITS];
        Packer { packed, buffer: Vec::new(), before: 0, literals: 0, at: 0, seen }
    }

    /// The buffer to append to. Callers call [`settle`](Self::settle) now and then.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// The number of unpacked bytes so far.
    pub(super) fn written(&self) -> usize {
        self.before + self.buffer.len()
    }

    /// Packs the buffer if it holds a whole piece.
    pub(super) fn settle(&mut self) {
        if self.buffer.len().saturating_sub(self.at) < PIECE {
            return;
        }
        self.pack();
        let kept = self.literals.min(self.at.saturating_sub(REACH)).min(self.buffer.len());
        self.buffer.drain(..kept);
        self.before += kept;
        self.literals -= kept;
        self.at -= kept;
    }

    /// All of the output: `front`, the size, the block.
    pub(super) fn finish(mut self, front: usize) -> Vec<u8> {
        self.pack();
        let literals = self.buffer.get(self.literals..).unwrap_or_default();
        head(&mut self.packed, literals, 0);
        let size = u32::try_from(self.before + self.buffer.len()).unwrap_or(u32::MAX);
        if let Some(place) = self.packed.get_mut(front..front + 4) {
            place.copy_from_slice(&size.to_le_bytes());
        }
        self.packed
    }

    fn four(&self, at: usize) -> Option<u32> {
        self.buffer.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn pack(&mut self) {
        while self.at + LAST_COPY <= self.buffer.len() {
            let Some(four) = self.four(self.at) else { return };
            let hash = (four.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize;
            let Some(seen) = self.seen.get_mut(hash) else { return };
            let last = std::mem::replace(seen, (self.before + self.at + 1) as u32);
            let from = (last as usize).checked_sub(self.before + 1);
            let from = from.filter(|&from| from < self.at && self.at - from <= REACH);
            let Some(from) = from.filter(|&from| self.four(from) == Some(four)) else {
                // Takes longer steps the longer no copy was found.
                self.at += 1 + ((self.at - self.literals) >> 6).min(MOST_SKIPPED);
                continue;
            };
            let end = self.buffer.len() - LAST_LITERALS;
            let there = self.buffer.get(from + SHORTEST..).unwrap_or_default();
            let here = self.buffer.get(self.at + SHORTEST..end).unwrap_or_default();
            let more = there.iter().zip(here).take_while(|(there, here)| there == here).count();
            let literals = self.buffer.get(self.literals..self.at).unwrap_or_default();
            head(&mut self.packed, literals, more);
            self.packed.extend(((self.at - from) as u16).to_le_bytes());
            length(&mut self.packed, more);
            self.at += SHORTEST + more;
            self.literals = self.at;
        }
    }
}

/// Writes the start of a sequence: the token with both lengths, and the literals.
fn head(packed: &mut Vec<u8>, literals: &[u8], more: usize) {
    packed.push((literals.len().min(15) << 4 | more.min(15)) as u8);
    length(packed, literals.len());
    packed.extend_from_slice(literals);
}

/// Writes the part of a length that doesn't fit into the token.
fn length(packed: &mut Vec<u8>, length: usize) {
    let Some(mut rest) = length.checked_sub(15) else { return };
    while rest >= 255 {
        packed.push(255);
        rest -= 255;
    }
    packed.push(rest as u8);
}

/// Unpacks a block.
pub(super) struct Unpacked<'a> {
    packed: &'a [u8],
    next: Next,
    /// The bytes that copies may repeat, and then the bytes that are not read yet.
    window: Vec<u8>,
    at: usize,
    /// The number of bytes still to unpack.
    left: usize,
}

/// The next part of a block.
enum Next {
    Token,
    /// The number of literals left, and the short length (from the token) of the copy after them.
    Literals(usize, usize),
    /// The number of bytes left to copy, and their distance back.
    Copy(usize, usize),
    End,
}

/// The bytes are not an LZ4 block, or the block has another size.
#[derive(Debug)]
pub(super) struct NoBlock;

impl<'a> Unpacked<'a> {
    /// Unpacks a block of `size` unpacked bytes.
    pub(super) fn new(packed: &'a [u8], size: usize) -> Unpacked<'a> {
        let window = Vec::with_capacity(size.min(REACH + PIECE));
        Unpacked { packed, next: Next::Token, window, at: 0, left: size }
    }

    /// The next unread bytes; empty at the end.
    pub(super) fn piece(&mut self) -> Result<&[u8], NoBlock> {
        if self.at == self.window.len() {
            let kept = self.window.len().saturating_sub(REACH);
            self.window.drain(..kept);
            self.at = self.window.len();
            self.unpack().ok_or(NoBlock)?;
        }
        Ok(self.window.get(self.at..).unwrap_or_default())
    }

    /// Marks bytes of the piece as read.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.window.len());
    }

    fn byte(&mut self) -> Option<usize> {
        let (&byte, rest) = self.packed.split_first()?;
        self.packed = rest;
        Some(byte.into())
    }

    fn length(&mut self, short: usize) -> Option<usize> {
        let mut length = short;
        if short == 15 {
            loop {
                let more = self.byte()?;
                length = length.checked_add(more)?;
                if more < 255 {
                    break;
                }
            }
        }
        Some(length)
    }

    /// Unpacks the next piece, or the rest.
    fn unpack(&mut self) -> Option<()> {
        while self.window.len() < REACH + PIECE {
            let room = REACH + PIECE - self.window.len();
            self.next = match self.next {
                Next::Token => {
                    let token = self.byte()?;
                    Next::Literals(self.length(token >> 4)?, token & 15)
                }
                Next::Literals(0, _) if self.packed.is_empty() => Next::End,
                Next::Literals(0, short) => {
                    let (offset, rest) = self.packed.split_first_chunk()?;
                    self.packed = rest;
                    let offset = usize::from(u16::from_le_bytes(*offset));
                    if !(1..=self.window.len()).contains(&offset) {
                        return None;
                    }
                    Next::Copy(self.length(short)?.checked_add(SHORTEST)?, offset)
                }
                Next::Literals(literals, short) => {
                    let (bytes, rest) = self.packed.split_at_checked(literals.min(room))?;
                    self.left = self.left.checked_sub(bytes.len())?;
                    self.window.extend_from_slice(bytes);
                    self.packed = rest;
                    Next::Literals(literals - bytes.len(), short)
                }
                Next::Copy(0, _) => Next::Token,
                Next::Copy(length, offset) => {
                    // A copy may overlap its source.
                    let bytes = length.min(room).min(offset);
                    self.left = self.left.checked_sub(bytes)?;
                    let from = self.window.len().checked_sub(offset)?;
                    self.window.extend_from_within(from..from + bytes);
                    Next::Copy(length - bytes, offset)
                }
                Next::End => {
                    return (self.left == 0).then_some(());
                }
            };
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(data: &[u8], step: usize) -> Vec<u8> {
        let mut packer = Packer::new(&[7]);
        for bytes in data.chunks(step) {
            packer.out().extend_from_slice(bytes);
            packer.settle();
        }
        assert_eq!(packer.written(), data.len());
        packer.finish(1)
    }

    fn unpacked(packed: &[u8], size: usize) -> Result<Vec<u8>, NoBlock> {
        let mut block = Unpacked::new(packed, size);
        let mut data = Vec::new();
        loop {
            let piece = block.piece()?;
            if piece.is_empty() {
                return Ok(data);
            }
            let some = piece.len().min(1 + data.len() % 70_000);
            data.extend_from_slice(&piece[..some]);
            block.advance(some);
        }
    }

    /// Data of all kinds: nothing, noise, one byte, text with repetitions near and far.
    fn samples() -> Vec<Vec<u8>> {
        let mut state = 7u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        let mut samples =
            vec![Vec::new(), b"a".to_vec(), b"abcdabcdabcdabcdabcd".to_vec(), vec![9; 1_000_000]];
        samples.push((0..700_000).map(|_| random() as u8).collect());
        let words: Vec<String> =
            (0..5_000).map(|_| format!("std::vector<t{}>::at{}", random() % 90, random())).collect();
        samples.push(
            (0..60_000)
                .flat_map(|_| words[random() as usize % words.len()].bytes().collect::<Vec<_>>())
                .collect(),
        );
        let far: Vec<u8> = (0..70_000).map(|_| random() as u8).collect();
        samples.push([&far[..], &far[..65_535], &far[..]].concat());
        samples
    }

    /// `lz4_flex` reads our blocks, and we read its blocks.
    #[test]
    fn blocks_are_those_of_others() {
        for data in samples() {
            for step in [1, 1_000, 1 << 20] {
                if step == 1 && data.len() > 100_000 {
                    continue;
                }
                let ours = packed(&data, step);
                assert_eq!(ours[0], 7);
                assert!(lz4_flex::decompress_size_prepended(&ours[1..]).unwrap() == data);
                assert!(unpacked(&ours[5..], data.len()).unwrap() == data);
            }
            let theirs = lz4_flex::compress(&data);
            assert!(unpacked(&theirs, data.len()).unwrap() == data);
            let ours = packed(&data, 1 << 16).len();
            assert!(ours < theirs.len() + theirs.len() / 8 + 64, "{ours} {} of {}", theirs.len(), data.len());
            // A wrong size.
            unpacked(&theirs, data.len() + 1).unwrap_err();
            if !data.is_empty() {
                unpacked(&theirs, data.len() - 1).unwrap_err();
            }
        }
    }

    #[test]
    fn any_bytes_are_a_block_or_none() {
        let theirs = lz4_flex::compress(b"abcdabcdabcdefghabcdefgh, and so on and so on and so on");
        for at in 0..theirs.len() {
            for byte in [0, 1, 15, 16, 0x7f, 0xf0, 0xff] {
                let mut broken = theirs.clone();
                broken[at] = byte;
                let _ = unpacked(&broken, 55);
                let _ = unpacked(&broken[..at], 55);
            }
        }
    }
}
