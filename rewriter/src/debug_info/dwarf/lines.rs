//! `.debug_line`: line programs with other steps from address to address. All else of them stays, byte for byte.

use super::code::Code;
use super::patch::{Offsets, number};
use crate::debug_info::source::{Bytes, Problem};
use gimli::{DebugLine, DebugLineOffset, LineProgramHeader, LittleEndian, Reader as _};
use kperf_abi::leb128;
use rayon::prelude::*;

const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const CONST_ADD_PC: u8 = 8;
const FIXED_ADVANCE_PC: u8 = 9;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;

/// The section with new addresses, and the new offset of each program.
pub(super) fn convert(data: &[u8], address_size: u8, code: &Code<'_>) -> Result<(Vec<u8>, Offsets), Problem> {
    let lines = DebugLine::new(data, LittleEndian);
    let mut headers = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let program = lines.program(DebugLineOffset(at), address_size, None, None)?;
        let header = program.header().clone();
        let word = usize::from(header.encoding().format.word_size());
        let before = header.encoding().format.initial_length_size();
        let end = at + usize::from(before) + header.unit_length();
        headers.push((at, end, header, usize::from(before), word));
        at = end;
    }
    let programs = headers.par_iter().map(|(at, end, header, before, word)| {
        let program = header.raw_program_buf();
        let mut out = data.get(*at..end - program.len()).ok_or(Problem::Reference)?.to_vec();
        Program { header, code, out: &mut out, old: 0, new: 0, is_dead: false }.convert(program)?;
        let length = (out.len() - before) as u64;
        if *word == 4 && length >= 0xffff_fff0 {
            return Err(Problem::NoRoom);
        }
        out[before - word..*before].copy_from_slice(&length.to_le_bytes()[..*word]);
        Ok(out)
    });
    let programs: Vec<Vec<u8>> = programs.collect::<Result<_, Problem>>()?;
    let mut out = Vec::with_capacity(programs.iter().map(Vec::len).sum());
    let mut offsets = Offsets::new();
    for ((at, ..), program) in headers.iter().zip(programs) {
        offsets.insert(*at, out.len());
        out.extend_from_slice(&program);
    }
    Ok((out, offsets))
}

/// A program that is being written.
struct Program<'p, 'a> {
    header: &'p LineProgramHeader<Bytes<'a>>,
    code: &'p Code<'p>,
    out: &'p mut Vec<u8>,
    /// The address, in the original and as it was written last.
    old: u64,
    new: u64,
    /// The sequence names the address of a function that was removed: its addresses stay. One that names none counts up from 0.
    is_dead: bool,
}

impl<'a> Program<'_, 'a> {
    fn convert(&mut self, mut input: Bytes<'a>) -> Result<(), Problem> {
        let header = self.header;
        if header.maximum_operations_per_instruction() > 1 || header.line_range() == 0 {
            return Err(Problem::Reference);
        }
        let step = u64::from(header.minimum_instruction_length());
        let advance = |opcode: u8| u64::from((opcode - header.opcode_base()) / header.line_range()) * step;
        while !input.is_empty() {
            let whole = input;
            let opcode = input.read_u8()?;
            if opcode >= header.opcode_base() {
                self.old = self.old.wrapping_add(advance(opcode));
                self.special((opcode - header.opcode_base()) % header.line_range(), step)?;
                continue;
            }
            match opcode {
                0 => {
                    let length = input.read_uleb128()?;
                    let length = usize::try_from(length).map_err(|_| Problem::Reference)?;
                    let mut operands = input.split(length)?;
                    match operands.read_u8().ok() {
                        Some(END_SEQUENCE) => {
                            self.advance(step)?;
                            (self.old, self.new, self.is_dead) = (0, 0, false);
                        }
                        Some(SET_ADDRESS) => {
                            let size = operands.len();
                            self.old = number(operands.slice(), 0, size as u8).ok_or(Problem::Reference)?;
                            let new = self.code.address(self.old);
                            self.is_dead = new.is_none();
                            self.set_address(new.unwrap_or(self.old), size)?;
                            continue;
                        }
                        _ => {}
                    }
                    self.copy(whole, input);
                }
                COPY => {
                    self.advance(step)?;
                    self.out.push(COPY);
                }
                ADVANCE_PC => self.old = self.old.wrapping_add(input.read_uleb128()?.wrapping_mul(step)),
                CONST_ADD_PC => self.old = self.old.wrapping_add(advance(255)),
                FIXED_ADVANCE_PC => self.old = self.old.wrapping_add(input.read_u16()?.into()),
                opcode => {
                    let lengths = header.standard_opcode_lengths().slice();
                    for _ in 0..lengths.get(usize::from(opcode) - 1).copied().unwrap_or(0) {
                        input.skip_leb128()?;
                    }
                    self.copy(whole, input);
                }
            }
        }
        Ok(())
    }

    fn copy(&mut self, from: Bytes<'a>, to: Bytes<'a>) {
        self.out.extend_from_slice(&from.slice()[..from.len() - to.len()]);
    }

    fn set_address(&mut self, address: u64, size: usize) -> Result<(), Problem> {
        self.out.push(0);
        leb128::write(self.out, size as u64 + 1);
        self.out.push(SET_ADDRESS);
        let bytes = address.to_le_bytes();
        self.out.extend_from_slice(bytes.get(..size).ok_or(Problem::Reference)?);
        if bytes[size..].iter().any(|&byte| byte != 0) {
            return Err(Problem::NoRoom);
        }
        self.new = address;
        Ok(())
    }

    /// How far the address has to go, in steps.
    fn distance(&mut self, step: u64) -> Result<u64, Problem> {
        let new = match self.is_dead {
            true => self.old,
            // An address after all code never comes before one in it.
            false => self.code.address(self.old).unwrap_or(self.new),
        };
        if new < self.new {
            let size = usize::from(self.header.address_size());
            self.set_address(new, size)?;
            return Ok(0);
        }
        let distance = new - self.new;
        self.new = new;
        if !distance.is_multiple_of(step) {
            return Err(Problem::NoRoom);
        }
        Ok(distance.checked_div(step).unwrap_or(0))
    }

    fn advance(&mut self, step: u64) -> Result<(), Problem> {
        let distance = self.distance(step)?;
        if distance > 0 {
            self.out.push(ADVANCE_PC);
            leb128::write(self.out, distance);
        }
        Ok(())
    }

    /// A row after a step of the line, which is `line` in special opcodes.
    fn special(&mut self, line: u8, step: u64) -> Result<(), Problem> {
        let distance = self.distance(step)?;
        let header = self.header;
        let opcode = |distance: u64| {
            let base = u64::from(header.opcode_base()) + u64::from(line);
            u8::try_from(distance.checked_mul(header.line_range().into())?.checked_add(base)?).ok()
        };
        let max = u64::from((255 - header.opcode_base()) / header.line_range());
        let opcode = if let Some(opcode) = opcode(distance) {
            opcode
        } else if let Some(opcode) = distance.checked_sub(max).and_then(opcode) {
            self.out.push(CONST_ADD_PC);
            opcode
        } else {
            self.out.push(ADVANCE_PC);
            leb128::write(self.out, distance);
            opcode(0).ok_or(Problem::Reference)?
        };
        self.out.push(opcode);
        Ok(())
    }
}
