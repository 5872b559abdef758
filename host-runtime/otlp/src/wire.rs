//! The little of protobuf's encoding that is written by hand, for speed: tags, lengths, fixed fields.
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

/// Appends an attribute of a span: its field 9, a `KeyValue` with a string.
pub(crate) fn string_attribute(out: &mut Vec<u8>, key: &str, text: &str) {
    let value = field_len(text.len());
    let length = field_len(key.len()) + field_len(value);
    out.push(9 << 3 | 2);
    varint(out, length as u64);
    field(out, 1, key.as_bytes());
    out.push(2 << 3 | 2);
    varint(out, value as u64);
    field(out, 1, text.as_bytes());
}

/// Appends an attribute of a span with an integer.
pub(crate) fn int_attribute(out: &mut Vec<u8>, key: &str, number: u64) {
    // An int64 on the wire; what would be negative there doesn't occur.
    let number = number.min(i64::MAX as u64);
    let value = 1 + varint_len(number);
    let length = field_len(key.len()) + field_len(value);
    out.push(9 << 3 | 2);
    varint(out, length as u64);
    field(out, 1, key.as_bytes());
    out.push(2 << 3 | 2);
    varint(out, value as u64);
    out.push(3 << 3);
    varint(out, number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute;
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
    fn attributes_are_those_of_prost() {
        for length in [0, 1, 100, 130, 20_000] {
            let text = "x".repeat(length);
            let mut ours = Vec::new();
            string_attribute(&mut ours, "key", &text);
            int_attribute(&mut ours, &format!("{text}."), length as u64);
            let attributes =
                vec![attribute::string("key", &text), attribute::int(&format!("{text}."), length as u64)];
            assert_eq!(ours, Span { attributes, ..Span::default() }.encode_to_vec());
        }
    }
}
