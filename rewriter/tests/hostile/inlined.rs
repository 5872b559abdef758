//! Modules with DWARF of more inlined calls than there can be.

use crate::debug::{
    ADDR, DATA4, DECL_LINE, INLINED, LOW_PC, SEC_OFFSET, STRP, SUBPROGRAM, UDATA, UNIT, abbreviation, unit,
    with,
};

const NAME: u8 = 0x03;
const HIGH_PC: u8 = 0x12;
const ORIGIN: u8 = 0x31;
const RANGES: u8 = 0x55;
const CALL_LINE: u8 = 0x59;
const REF4: u8 = 0x13;

/// The inlined function comes after the unit's header and its own entry.
const FUNCTION: u32 = 12;

/// A unit with a function `f` as its first entry, and these entries after it.
fn module(dies: &[u8], name: &[u8], ranges: &[u8]) -> Vec<u8> {
    let mut table = Vec::new();
    abbreviation(1, UNIT, &[], &mut table);
    abbreviation(2, SUBPROGRAM, &[(NAME, STRP), (DECL_LINE, UDATA)], &mut table);
    abbreviation(
        3,
        INLINED,
        &[(ORIGIN, REF4), (LOW_PC, ADDR), (HIGH_PC, DATA4), (CALL_LINE, UDATA)],
        &mut table,
    );
    abbreviation(4, INLINED, &[(ORIGIN, REF4), (RANGES, SEC_OFFSET)], &mut table);
    table.push(0);
    let mut all = vec![1, 2, 0, 0, 0, 0, 7];
    all.extend(dies);
    let mut info = Vec::new();
    unit(0, &all, &mut info);
    let sections = [
        (".debug_abbrev", table.as_slice()),
        (".debug_info", &info),
        (".debug_str", name),
        (".debug_ranges", ranges),
    ];
    with(1, &sections)
}

/// An inlined call of all of the module's only function, with a body that begins two bytes later.
fn call(origin: u32, out: &mut Vec<u8>) {
    out.push(3);
    out.extend(origin.to_le_bytes());
    out.extend([2, 0, 0, 0, 2, 0, 0, 0, 9]);
}

/// Calls inlined in one another.
pub(crate) fn deep(count: usize) -> Vec<u8> {
    let mut dies = Vec::new();
    (0..count).for_each(|_| call(FUNCTION, &mut dies));
    dies.resize(dies.len() + count, 0);
    module(&dies, b"f\0", &[])
}

/// Calls that are all at one place.
pub(crate) fn many(count: usize) -> Vec<u8> {
    let mut dies = Vec::new();
    for _ in 0..count {
        call(FUNCTION, &mut dies);
        dies.push(0);
    }
    module(&dies, b"f\0", &[])
}

/// Each call is of the next one, and the last of the first.
pub(crate) fn in_a_circle(count: usize) -> Vec<u8> {
    const LENGTH: u32 = 15;
    let first = FUNCTION + 6;
    let mut dies = Vec::new();
    for n in 1..=count as u32 {
        call(first + LENGTH * (n % count as u32), &mut dies);
        dies.push(0);
    }
    module(&dies, b"f\0", &[])
}

/// Calls that have the same list of as many ranges.
pub(crate) fn shared_ranges(count: usize) -> Vec<u8> {
    let mut dies = Vec::new();
    for _ in 0..count {
        dies.push(4);
        dies.extend(FUNCTION.to_le_bytes());
        dies.extend([0; 5]);
    }
    module(&dies, b"f\0", &[2, 0, 0, 0, 4, 0, 0, 0].repeat(count))
}

/// Functions at different lines with the same long name, and a call of each.
pub(crate) fn long_names(count: usize) -> Vec<u8> {
    let mut dies = Vec::new();
    let mut at = FUNCTION + 6;
    for n in 0..count {
        dies.extend([2, 0, 0, 0, 0, (n % 100) as u8]);
        call(at, &mut dies);
        dies.push(0);
        at += 6 + 15;
    }
    module(&dies, &[vec![b'f'; 4_000], vec![0]].concat(), &[])
}
