//! The column codec's envelope, between the codec byte and the columns. FORMAT.md, "Codec 1: columns".

use crate::codec::{Packer, Unpacker};
use kperf_abi::block;

/// Codec byte of a raw block: the recorder's bytes.
pub(crate) const RAW: u8 = 0;
/// Codec byte of columns.
pub(crate) const COLUMNS: u8 = 1;
/// Length of the envelope, including the codec byte.
const ENVELOPE_LEN: usize = 48;
/// The maximal length of a raw block in bytes, to limit memory. Recorders' blocks are thirty times shorter.
pub(crate) const MAX_BLOCK: usize = 4 << 20;
/// The longest column: no event takes more than five bytes of ids, or ten of time and ten of a gap.
const MAX_COLUMN: usize = MAX_BLOCK / 4 * 20;

/// The form of the `times` column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Times {
    /// One difference of ticks for every event.
    #[default]
    Dense = 0,
    /// Pairs: how many events there were since the last time, and the difference of ticks after them.
    Sparse = 1,
}

/// A block, sorted by kind (ids, times, other words) rather than by time.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// How many words there are, without times.
    pub(crate) count: u32,
    /// LEB128 for each: 0 leave, 1 a word in `others`, n + 2 enter n.
    pub(crate) ids: Vec<u8>,
    /// The words that are neither enter nor leave nor time, four bytes each.
    pub(crate) others: Vec<u8>,
    /// The form of `times`.
    pub(crate) form: Times,
    /// LEB128 differences of ticks.
    pub(crate) times: Vec<u8>,
    /// Buffers for ids and times, kept from block to block.
    pub(crate) room: [Vec<u8>; 2],
}

impl Columns {
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.ids.clear();
        self.others.clear();
        self.times.clear();
    }

    /// Appends an EVTS payload to `out`: codec byte, envelope, columns. Calls `between` after each column.
    pub(crate) fn pack(
        &self,
        header: &[u8; block::HEADER_LEN],
        packer: &mut Packer,
        out: &mut Vec<u8>,
        between: &mut dyn FnMut(),
    ) {
        let start = out.len();
        out.resize(start + ENVELOPE_LEN, 0);
        let mut lengths = [(0, 0); 3];
        let mut packed_bits = 0;
        for (n, column) in [&self.ids, &self.others, &self.times].into_iter().enumerate() {
            let before = out.len();
            packed_bits |= u8::from(packer.pack(column, out)) << n;
            lengths[n] = (column.len() as u32, (out.len() - before) as u32);
            between();
        }
        let envelope = &mut out[start..start + ENVELOPE_LEN];
        envelope[..4].copy_from_slice(&[COLUMNS, self.form as u8, packed_bits, 0]);
        envelope[4..20].copy_from_slice(header);
        envelope[20..24].copy_from_slice(&self.count.to_le_bytes());
        for (field, (length, stored)) in envelope[24..].as_chunks_mut::<8>().0.iter_mut().zip(lengths) {
            field[..4].copy_from_slice(&length.to_le_bytes());
            field[4..].copy_from_slice(&stored.to_le_bytes());
        }
    }

    /// Reads an EVTS payload that begins with [`COLUMNS`] into these columns. Returns the block's header.
    pub(crate) fn unpack(
        &mut self,
        payload: &[u8],
        unpacker: &mut Unpacker,
    ) -> Result<[u8; block::HEADER_LEN], &'static str> {
        let (envelope, mut stored) =
            payload.split_first_chunk::<ENVELOPE_LEN>().ok_or("it ends inside its envelope")?;
        let number = |at: usize| {
            u32::from_le_bytes([envelope[at], envelope[at + 1], envelope[at + 2], envelope[at + 3]])
        };
        self.form = match envelope[1] {
            0 => Times::Dense,
            1 => Times::Sparse,
            _ => return Err("the form of its times is unknown"),
        };
        self.count = number(20);
        if self.count as usize > MAX_BLOCK / 4 {
            return Err("it claims more events than a block has");
        }
        for (n, column) in [&mut self.ids, &mut self.others, &mut self.times].into_iter().enumerate() {
            let (length, stored_length) = (number(24 + 8 * n) as usize, number(28 + 8 * n) as usize);
            let (bytes, rest) = stored.split_at_checked(stored_length).ok_or("it ends inside a column")?;
            stored = rest;
            if length > MAX_COLUMN {
                return Err("it claims a column longer than a block has");
            }
            if envelope[2] >> n & 1 != 0 {
                unpacker.unpack(bytes, length, column)?;
            } else if length == stored_length {
                column.clear();
                column.extend_from_slice(bytes);
            } else {
                return Err("a stored column has two lengths");
            }
        }
        let mut header = [0; block::HEADER_LEN];
        header.copy_from_slice(&envelope[4..20]);
        Ok(header)
    }
}
