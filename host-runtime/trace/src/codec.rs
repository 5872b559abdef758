//! Packs and unpacks one column: a zstd frame, or the plain bytes.
//!
//! Natively with the C library, whose contexts are kept from block to block. WebAssembly has no C compiler:
//! there `ruzstd` reads frames, and columns are stored plain.

#[cfg(not(target_family = "wasm"))]
pub(crate) use native::{Packer, Unpacker};
#[cfg(target_family = "wasm")]
pub(crate) use portable::{Packer, Unpacker};

/// A shorter column is stored plain: a frame's header would take more than it saves.
#[cfg(not(target_family = "wasm"))]
const WORTH_PACKING: usize = 48;

/// The message for a column that can't be unpacked.
const BAD_FRAME: &str = "a column is no zstd frame of the length it claims";

#[cfg(not(target_family = "wasm"))]
mod native {
    use super::{BAD_FRAME, WORTH_PACKING};
    use std::io;
    use zstd::bulk::{Compressor, Decompressor};

    /// At this level packing a block takes less time than recording it. Higher levels save a tenth and take twice as long.
    const LEVEL: i32 = 1;

    /// Packs columns.
    pub(crate) struct Packer {
        zstd: Compressor<'static>,
        frame: Vec<u8>,
    }

    impl Packer {
        pub(crate) fn new() -> io::Result<Packer> {
            let mut zstd = Compressor::new(LEVEL)?;
            zstd.include_checksum(false)?;
            zstd.include_dictid(false)?;
            Ok(Packer { zstd, frame: Vec::new() })
        }

        /// Appends the column to `out`, packed if that makes it shorter. Returns whether it is packed.
        pub(crate) fn pack(&mut self, column: &[u8], out: &mut Vec<u8>) -> bool {
            if column.len() >= WORTH_PACKING {
                self.frame.clear();
                self.frame.reserve(zstd::zstd_safe::compress_bound(column.len()));
                // This fails only if the buffer is too small. Then the column is stored plain.
                let packed = self.zstd.compress_to_buffer(column, &mut self.frame);
                if packed.is_ok_and(|length| length < column.len()) {
                    out.extend_from_slice(&self.frame);
                    return true;
                }
            }
            out.extend_from_slice(column);
            false
        }
    }

    /// Unpacks columns.
    pub(crate) struct Unpacker {
        zstd: Decompressor<'static>,
    }

    impl Unpacker {
        pub(crate) fn new() -> io::Result<Unpacker> {
            Ok(Unpacker { zstd: Decompressor::new()? })
        }

        /// Unpacks `frame` to the `length` bytes of `column`.
        pub(crate) fn unpack(
            &mut self,
            frame: &[u8],
            length: usize,
            column: &mut Vec<u8>,
        ) -> Result<(), &'static str> {
            column.clear();
            column.reserve(length);
            match self.zstd.decompress_to_buffer(frame, column) {
                Ok(unpacked) if unpacked == length => Ok(()),
                _ => Err(BAD_FRAME),
            }
        }
    }
}

#[cfg(any(target_family = "wasm", test))]
#[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
mod portable {
    use super::BAD_FRAME;
    use ruzstd::decoding::FrameDecoder;
    use std::io;

    pub(crate) struct Packer;

    impl Packer {
        pub(crate) fn new() -> io::Result<Packer> {
            Ok(Packer)
        }

        pub(crate) fn pack(&mut self, column: &[u8], out: &mut Vec<u8>) -> bool {
            out.extend_from_slice(column);
            false
        }
    }

    pub(crate) struct Unpacker {
        zstd: FrameDecoder,
    }

    impl Unpacker {
        pub(crate) fn new() -> io::Result<Unpacker> {
            Ok(Unpacker { zstd: FrameDecoder::new() })
        }

        pub(crate) fn unpack(
            &mut self,
            frame: &[u8],
            length: usize,
            column: &mut Vec<u8>,
        ) -> Result<(), &'static str> {
            column.clear();
            column.resize(length, 0);
            match self.zstd.decode_all(frame, column) {
                Ok(unpacked) if unpacked == length => Ok(()),
                _ => Err(BAD_FRAME),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs, noise and nothing, in the lengths that columns have.
    fn columns() -> Vec<Vec<u8>> {
        let mut state = 1u32;
        let mut noise = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut columns = vec![vec![], vec![7; 100_000], b"\x02\x03\0\0".repeat(9_000)];
        for bits in 1..=8 {
            columns.push((0..20_000).map(|_| noise() >> (8 - bits)).collect());
        }
        columns
    }

    #[test]
    fn both_decoders_give_the_column_back() {
        let mut packer = Packer::new().expect("a packer");
        let (mut native, mut portable) =
            (Unpacker::new().expect("C"), portable::Unpacker::new().expect("Rust"));
        let mut packed_columns = 0;
        for column in columns() {
            let mut frame = Vec::new();
            if packer.pack(&column, &mut frame) {
                packed_columns += 1;
                let mut unpacked = Vec::new();
                assert_eq!(native.unpack(&frame, column.len(), &mut unpacked), Ok(()));
                assert!(unpacked == column);
                assert_eq!(portable.unpack(&frame, column.len(), &mut unpacked), Ok(()));
                assert!(unpacked == column);
            } else {
                assert!(frame == column);
            }
        }
        assert_eq!(packed_columns, 9, "all but the empty one and the noise of eight bits");
    }

    #[test]
    fn a_frame_of_another_length_is_an_error_in_both() {
        let mut frame = Vec::new();
        assert!(Packer::new().expect("a packer").pack(&[1; 1000], &mut frame));
        let (mut native, mut portable) =
            (Unpacker::new().expect("C"), portable::Unpacker::new().expect("Rust"));
        for length in [0, 999, 1001] {
            assert!(native.unpack(&frame, length, &mut Vec::new()).is_err(), "{length}");
            assert!(portable.unpack(&frame, length, &mut Vec::new()).is_err(), "{length}");
        }
    }
}
