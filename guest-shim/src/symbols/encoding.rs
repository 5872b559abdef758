//! The parts of a packed symbol table: version, numbers, texts.

use super::lz4::Unpacked;
use super::{MAX_BYTES, SymbolsError};
use crate::leb128;

pub(super) const VERSION: u8 = 1;
/// The version of tables with a function that is only counted. Older readers must refuse such a table: they
/// would report that its calls took no time.
pub(super) const VERSION_COUNTED: u8 = 2;
/// The greatest ratio of unpacked to packed bytes in LZ4. A few bytes that claim gigabytes are refused.
const MOST_GROWTH: usize = 255;

/// Writes a text after its length.
pub(super) fn write_str(out: &mut Vec<u8>, text: &str) {
    leb128::write(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// A table that is being read.
pub(super) struct Input<'a> {
    block: Unpacked<'a>,
    size: usize,
    read: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Input<'a>, SymbolsError> {
        let error = |offset, message| SymbolsError { offset, message };
        match bytes {
            [VERSION | VERSION_COUNTED, a, b, c, d, packed @ ..] if !packed.is_empty() => {
                let size = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                if size > bytes.len().saturating_mul(MOST_GROWTH) {
                    return Err(error(1, "it claims more bytes than it can have"));
                }
                if size > MAX_BYTES {
                    return Err(error(1, "it is too large"));
                }
                Ok(Input { block: Unpacked::new(packed, size), size, read: 0 })
            }
            [] | [VERSION | VERSION_COUNTED, ..] => Err(error(bytes.len(), "it ends too early")),
            _ => Err(error(0, "its version is unknown")),
        }
    }

    /// The number of bytes not yet read.
    pub(super) fn left(&self) -> usize {
        self.size - self.read
    }

    pub(super) fn error(&self, message: &'static str) -> SymbolsError {
        SymbolsError { offset: self.read, message }
    }

    fn piece(&mut self) -> Result<&[u8], SymbolsError> {
        self.block.piece().map_err(|_| SymbolsError { offset: 5, message: "it doesn't unpack" })
    }

    pub(super) fn byte(&mut self) -> Result<u8, SymbolsError> {
        let byte = self.piece()?.first().copied().ok_or_else(|| self.error("it ends too early"))?;
        self.block.advance(1);
        self.read += 1;
        Ok(byte)
    }

    /// Appends `length` bytes to `out`. The caller has checked that they are left.
    pub(super) fn bytes(&mut self, length: usize, out: &mut Vec<u8>) -> Result<(), SymbolsError> {
        let mut wanted = length;
        while wanted > 0 {
            let piece = self.piece()?;
            let some = piece.len().min(wanted);
            out.extend_from_slice(&piece[..some]);
            if some == 0 {
                return Err(self.error("it ends too early"));
            }
            self.block.advance(some);
            self.read += some;
            wanted -= some;
        }
        Ok(())
    }

    pub(super) fn number(&mut self) -> Result<u64, SymbolsError> {
        let mut bytes = [0; 10];
        for byte in &mut bytes {
            *byte = match self.left() {
                0 => return Err(self.error("a number is cut off or too large")),
                _ => self.byte()?,
            };
            if *byte & 0x80 == 0 {
                break;
            }
        }
        leb128::read(&mut &bytes[..]).ok_or_else(|| self.error("a number is cut off or too large"))
    }

    pub(super) fn u32(&mut self) -> Result<u32, SymbolsError> {
        u32::try_from(self.number()?).map_err(|_| self.error("a number exceeds 32 bits"))
    }

    pub(super) fn str(&mut self) -> Result<String, SymbolsError> {
        let length = self.number()?;
        if length > self.left() as u64 {
            return Err(self.error("a name is longer than what is left"));
        }
        let mut text = Vec::with_capacity(length as usize);
        self.bytes(length as usize, &mut text)?;
        String::from_utf8(text).map_err(|_| self.error("a name is not UTF-8"))
    }

    /// Reads the bytes that a later version has added, so that a truncated block is an error.
    pub(super) fn end(mut self) -> Result<(), SymbolsError> {
        loop {
            match self.piece()?.len() {
                0 => return Ok(()),
                some => self.block.advance(some),
            }
        }
    }
}
