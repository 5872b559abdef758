//! The few parts of protobuf's encoding that are written by hand, for speed: tags, lengths, fixed fields.
//! <https://protobuf.dev/programming-guides/encoding/>

/// How many bytes a varint takes.
#[inline]
pub(crate) fn varint_len(value: u64) -> usize {
    // Seven bits a byte.
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Appends a varint.
#[inline]
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length-delimited field with a number below 16: a string, bytes, a message.
pub(crate) fn field(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// How many bytes [`field`] takes for a content of this length.
pub(crate) fn field_len(length: usize) -> usize {
    1 + varint_len(length as u64) + length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::trace::v1::Span;
    use prost::Message;

    #[test]
    fn varints_are_those_of_prost() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                varint(&mut ours, value);
                prost::encoding::encode_varint(value, &mut theirs);
                assert_eq!((&ours, ours.len()), (&theirs, varint_len(value)));
            }
        }
    }

    #[test]
    fn fields_are_those_of_prost() {
        for length in [1, 100, 127, 128, 20_000] {
            let name = "x".repeat(length);
            let mut ours = Vec::new();
            field(&mut ours, 5, name.as_bytes());
            assert_eq!(
                (ours.len(), ours),
                (field_len(length), Span { name, ..Span::default() }.encode_to_vec())
            );
        }
    }
}
