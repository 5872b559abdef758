//! `.debug_macro`: the offsets of line programs, which have moved. It has no addresses.

use super::patch::{Offsets, Patch, number};
use crate::debug_info::source::Problem;

/// DWARF 5, 6.3.1: what a unit begins with.
const IS_64: u8 = 1;
const HAS_LINES: u8 = 2;
const HAS_OPERANDS: u8 = 4;

/// The fields of an entry after its opcode (DWARF 5, 6.3.2 and 6.3.3).
#[derive(Clone, Copy)]
enum Field {
    Leb,
    Text,
    Offset,
}

/// The entries in the order of their opcodes, from `DW_MACRO_define` on.
const ENTRIES: [&[Field]; 12] = [
    &[Field::Leb, Field::Text],
    &[Field::Leb, Field::Text],
    &[Field::Leb, Field::Leb],
    &[],
    &[Field::Leb, Field::Offset],
    &[Field::Leb, Field::Offset],
    &[Field::Offset],
    &[Field::Leb, Field::Offset],
    &[Field::Leb, Field::Offset],
    &[Field::Offset],
    &[Field::Leb, Field::Leb],
    &[Field::Leb, Field::Leb],
];

/// Patches for the offsets of line programs. `lines` has the new offsets.
pub(super) fn convert(section: &[u8], lines: &Offsets) -> Result<Vec<Patch>, Problem> {
    let mut patches = Vec::new();
    let mut at = 0;
    while at < section.len() {
        let flags = *section.get(at + 2).ok_or(Problem::Reference)?;
        let version = number(section, at, 2);
        if !matches!(version, Some(4 | 5)) || flags & HAS_OPERANDS != 0 {
            return Err(Problem::Reference);
        }
        let size = if flags & IS_64 == 0 { 4 } else { 8 };
        at += 3;
        if flags & HAS_LINES != 0 {
            let old = number(section, at, size).ok_or(Problem::Reference)? as usize;
            let value = *lines.get(&old).ok_or(Problem::Reference)? as u64;
            patches.push(Patch { at, size, leb: false, value });
            at += usize::from(size);
        }
        at = entries_end(section, at, size.into()).ok_or(Problem::Reference)?;
    }
    Ok(patches)
}

/// Where the entries of a unit end.
fn entries_end(section: &[u8], mut at: usize, offset: usize) -> Option<usize> {
    loop {
        let opcode = usize::from(*section.get(at)?);
        at += 1;
        let Some(entry) = opcode.checked_sub(1) else { return Some(at) };
        for field in *ENTRIES.get(entry)? {
            let rest = section.get(at..)?;
            at += match field {
                Field::Leb => rest.iter().position(|&byte| byte & 0x80 == 0)? + 1,
                Field::Text => rest.iter().position(|&byte| byte == 0)? + 1,
                Field::Offset => offset,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_name_the_line_programs_where_they_are_now() {
        // A unit with a line program and entries, one without, one of 64 bits.
        let section = [
            &[5, 0, 2, 7, 0, 0, 0][..],
            &[3, 0, 1, 1, 1, b'A', 0, 5, 0x81, 0, 1, 2, 3, 4, 4, 0],
            &[5, 0, 0, 0],
            &[5, 0, 3, 7, 0, 0, 0, 0, 0, 0, 0, 10, 1, 2, 3, 4, 5, 6, 7, 8, 0],
        ]
        .concat();
        let lines = Offsets::from([(7, 900)]);
        let patches = convert(&section, &lines).expect("it is whole");
        let patched: Vec<_> = patches.iter().map(|patch| (patch.at, patch.size, patch.value)).collect();
        assert_eq!(patched, [(3, 4, 900), (30, 8, 900)]);
        assert!(convert(&section, &Offsets::new()).is_err(), "of a line program that isn't there");
        for length in 1..section.len() {
            // Cut between units it is whole.
            assert_eq!(convert(&section[..length], &lines).is_ok(), [23, 27].contains(&length), "{length}");
        }
    }
}
