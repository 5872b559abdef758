//! Modules with DWARF that makes a reader repeat its work, or do more than there are bytes for.

use crate::code::{function, module};
use std::borrow::Cow;
use wasm_encoder::{CustomSection, Encode};

/// A module of some functions followed by these sections.
pub(crate) fn with(functions: usize, sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut module = module((0..functions).map(|_| function([])));
    for &(name, data) in sections {
        module.section(&CustomSection { name: name.into(), data: Cow::Borrowed(data) });
    }
    module.finish()
}

/// A table with one tag, with these attributes and their forms.
pub(crate) fn abbreviation(code: u32, tag: u32, attributes: &[(u8, u8)], out: &mut Vec<u8>) {
    code.encode(out);
    tag.encode(out);
    // Inlined calls have children.
    out.push(u8::from(tag == INLINED));
    attributes.iter().for_each(|&(name, form)| out.extend([name, form]));
    out.extend([0, 0]);
}

pub(crate) const UNIT: u32 = 0x11;
pub(crate) const INLINED: u32 = 0x1d;
pub(crate) const SUBPROGRAM: u32 = 0x2e;
pub(crate) const LOW_PC: u8 = 0x11;
pub(crate) const STMT_LIST: u8 = 0x10;
const COMP_DIR: u8 = 0x1b;
pub(crate) const DECL_FILE: u8 = 0x3a;
pub(crate) const DECL_LINE: u8 = 0x3b;
pub(crate) const ADDR: u8 = 0x01;
pub(crate) const DATA4: u8 = 0x06;
pub(crate) const UDATA: u8 = 0x0f;
pub(crate) const STRP: u8 = 0x0e;
const FLAG_PRESENT: u8 = 0x19;
pub(crate) const SEC_OFFSET: u8 = 0x17;

/// A unit of DWARF 4.
pub(crate) fn unit(abbreviations: usize, dies: &[u8], out: &mut Vec<u8>) {
    out.extend((7 + dies.len() as u32).to_le_bytes());
    out.extend(4u16.to_le_bytes());
    out.extend((abbreviations as u32).to_le_bytes());
    out.push(4);
    out.extend(dies);
}

/// A line program of DWARF 4 with these files, each in its first folder, and these opcodes.
fn lines(folder: &str, files: &[String], opcodes: &[u8]) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 0x0e, 0x0d, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    if !folder.is_empty() {
        header.extend(folder.as_bytes());
        header.push(0);
    }
    header.push(0);
    for file in files {
        header.extend(file.as_bytes());
        header.extend([0, u8::from(!folder.is_empty()), 0, 0]);
    }
    header.push(0);
    let mut out = Vec::new();
    out.extend((6 + header.len() as u32 + opcodes.len() as u32).to_le_bytes());
    out.extend(4u16.to_le_bytes());
    out.extend((header.len() as u32).to_le_bytes());
    out.extend(header);
    out.extend(opcodes);
    out
}

/// Units that share a table of as many entries.
pub(crate) fn shared_abbreviations(count: usize) -> Vec<u8> {
    let (mut table, mut info) = (Vec::new(), Vec::new());
    (0..count).for_each(|n| abbreviation(n as u32 + 1, UNIT, &[], &mut table));
    table.push(0);
    (0..count).for_each(|_| unit(0, &[1], &mut info));
    with(1, &[(".debug_abbrev", &table), (".debug_info", &info)])
}

/// Units each of which has a table that goes on to the end of the section.
pub(crate) fn overlapping_abbreviations(count: usize) -> Vec<u8> {
    let (mut table, mut info) = (Vec::new(), Vec::new());
    for n in 0..count {
        unit(table.len(), &[1], &mut info);
        abbreviation((n % 100) as u32 + 1, UNIT, &[], &mut table);
    }
    with(1, &[(".debug_abbrev", &table), (".debug_info", &info)])
}

/// DIEs of one byte with thousands of attributes that take none.
pub(crate) fn attributes(count: usize) -> Vec<u8> {
    let (mut table, mut info) = (Vec::new(), Vec::new());
    abbreviation(1, UNIT, &vec![(0x3c, FLAG_PRESENT); count], &mut table);
    table.push(0);
    unit(0, &vec![1; count], &mut info);
    (0..count / 10).for_each(|_| unit(0, &[1], &mut info));
    with(1, &[(".debug_abbrev", &table), (".debug_info", &info)])
}

/// Units that share a line program of ten times as many rows, with as many files.
pub(crate) fn shared_lines(count: usize) -> Vec<u8> {
    let (mut table, mut info) = (Vec::new(), Vec::new());
    abbreviation(1, UNIT, &[(STMT_LIST, SEC_OFFSET)], &mut table);
    table.push(0);
    (0..count).for_each(|_| unit(0, &[1, 0, 0, 0, 0], &mut info));
    let files: Vec<String> = (0..count).map(|n| n.to_string()).collect();
    let mut opcodes = vec![0, 5, 2, 3, 0, 0, 0];
    opcodes.resize(10 * count, 0x20);
    opcodes.extend([0, 1, 1]);
    with(
        1,
        &[(".debug_abbrev", &table), (".debug_info", &info), (".debug_line", &lines("", &files, &opcodes))],
    )
}

/// Units with line programs that begin two bytes after the one before.
pub(crate) fn overlapping_lines(count: usize) -> Vec<u8> {
    let (mut table, mut info) = (Vec::new(), Vec::new());
    abbreviation(1, UNIT, &[(STMT_LIST, SEC_OFFSET)], &mut table);
    table.push(0);
    // A header, and opcodes that are headers too.
    let mut line = lines("", &[], &[]);
    let header = line.clone();
    for n in 0..count {
        let mut dies = vec![1];
        dies.extend(((n * header.len()) as u32).to_le_bytes());
        unit(0, &dies, &mut info);
        line.extend(&header);
    }
    let length = line.len() as u32;
    for n in 0..count {
        let at = n * header.len();
        line[at..at + 4].copy_from_slice(&(length - at as u32 - 4).to_le_bytes());
    }
    with(1, &[(".debug_abbrev", &table), (".debug_info", &info), (".debug_line", &line)])
}

/// Units that name the source of as many functions: in files of a line program, compiled in a folder.
fn declared(count: usize, units: usize, line: &[u8], folder: &[u8]) -> Vec<u8> {
    let mut table = Vec::new();
    abbreviation(1, UNIT, &[(STMT_LIST, SEC_OFFSET), (COMP_DIR, STRP)], &mut table);
    let place = [(LOW_PC, ADDR), (DECL_FILE, DATA4), (DECL_LINE, UDATA)];
    abbreviation(2, SUBPROGRAM, &place, &mut table);
    table.push(0);
    let mut info = Vec::new();
    for n in 0..units {
        let mut dies = vec![1];
        dies.extend([0; 8]);
        for function in (n * count / units)..((n + 1) * count / units) {
            dies.push(2);
            // Behind the number of functions, each takes three bytes with its size.
            dies.extend((5 + 3 * function as u32).to_le_bytes());
            dies.extend((function as u32 + 1).to_le_bytes());
            dies.push(7);
        }
        unit(0, &dies, &mut info);
    }
    let sections = [
        (".debug_abbrev", table.as_slice()),
        (".debug_info", &info),
        (".debug_line", line),
        (".debug_str", folder),
    ];
    with(count, &sections)
}

/// Functions in files of their own, all in one folder with a long name.
pub(crate) fn long_folder(count: usize) -> Vec<u8> {
    let files: Vec<String> = (0..count).map(|n| n.to_string()).collect();
    let folder = "f".repeat(4_000);
    declared(count, 1, &lines(&folder, &files, &[]), &[folder.as_bytes(), &[0]].concat())
}

/// Units of one function, with a folder's name nearly as long as all of them.
pub(crate) fn endless_folder(count: usize) -> Vec<u8> {
    let files: Vec<String> = (0..count).map(|n| n.to_string()).collect();
    declared(count, count, &lines("", &files, &[]), &vec![b'f'; 20 * count])
}
