//! The checksum of chunks: CRC-32 as in zlib and PNG.

/// The checksum of some bytes.
#[cfg(not(target_family = "wasm"))]
pub(crate) use crc32fast::hash as crc32;
#[cfg(target_family = "wasm")]
pub(crate) use tables::crc32;

/// For WebAssembly, where modules must be small: the tables of crc32fast are 16 kB, which can't be compressed.
#[cfg(any(target_family = "wasm", test))]
mod tables {
    use std::sync::OnceLock;

    /// How many bytes one step takes.
    const STEP: usize = 8;
    const POLYNOMIAL: u32 = 0xedb8_8320;

    /// For each byte value, its checksum if so many zeros follow.
    type Tables = [[u32; 256]; STEP];

    static TABLES: OnceLock<Tables> = OnceLock::new();

    fn make() -> Tables {
        let mut tables = [[0; 256]; STEP];
        for (byte, crc) in (0u32..).zip(&mut tables[0]) {
            *crc = (0..8).fold(byte, |crc, _| if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 });
        }
        for zeros in 1..STEP {
            for byte in 0..256 {
                let crc = tables[zeros - 1][byte];
                tables[zeros][byte] = crc >> 8 ^ tables[0][crc as usize & 0xff];
            }
        }
        tables
    }

    /// The checksum of some bytes.
    pub(crate) fn crc32(bytes: &[u8]) -> u32 {
        let tables = TABLES.get_or_init(make);
        let (steps, rest) = bytes.as_chunks::<STEP>();
        let mut crc = !0;
        for step in steps {
            let [a, b, c, d, e, f, g, h] = (u64::from_le_bytes(*step) ^ u64::from(crc)).to_le_bytes();
            let [t0, t1, t2, t3, t4, t5, t6, t7] = tables;
            let first = t7[usize::from(a)] ^ t6[usize::from(b)] ^ t5[usize::from(c)] ^ t4[usize::from(d)];
            let second = t3[usize::from(e)] ^ t2[usize::from(f)] ^ t1[usize::from(g)] ^ t0[usize::from(h)];
            crc = first ^ second;
        }
        for &byte in rest {
            crc = crc >> 8 ^ tables[0][(crc as u8 ^ byte) as usize];
        }
        !crc
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn both_say_the_same() {
            let bytes: Vec<u8> = (0..1000u32).map(|n| ((n * n) >> 3) as u8).collect();
            for begin in 0..20 {
                for end in begin..bytes.len() {
                    assert_eq!(super::crc32(&bytes[begin..end]), crc32fast::hash(&bytes[begin..end]));
                }
            }
        }
    }
}
