//! A function in the text format, with figures for each instruction.

use super::{Listed, TITLES, figures};
use anyhow::Context;
use kperf_abi::FuncId;
use kperf_profile::{Profile, Row, printable};
use std::collections::BTreeMap;
use std::io::{self, Write};
use wasmparser::{CodeSectionReader, Parser, Payload};

/// A line of text, and the offset in the function's body of the instruction in it.
type Line = (u32, String);

/// The text of a function of the original module. Other bodies are not printed: that takes seconds for a
/// large module.
pub(super) fn of_function(wasm: &[u8], profile: &Profile, func: FuncId) -> anyhow::Result<Vec<Line>> {
    let symbol = profile.symbols.get(func).context("the trace doesn't say which function it is")?;
    let (alone, body) = alone(wasm, symbol.code_offset)?;
    let mut storage = String::new();
    let config = wasmprinter::Config::new();
    let lines = config.offsets_and_lines(&alone, &mut storage).context("its module can't be printed")?;
    let mut found = Vec::new();
    for (offset, text) in lines {
        if let Some(at) = offset.filter(|at| body.contains(at)) {
            found.push(((at - body.start) as u32, text));
        }
    }
    let indent = found.iter().map(|(_, text)| text.len() - text.trim_start().len()).min().unwrap_or(0);
    let line = |(at, text): (u32, &str)| (at, text.get(indent..).unwrap_or(text).trim_end().to_owned());
    Ok(found.into_iter().map(line).collect())
}

/// Empties all bodies but the one at `offset`. Returns the module and the new range of that body.
fn alone(wasm: &[u8], offset: u64) -> anyhow::Result<(Vec<u8>, std::ops::Range<u64>)> {
    /// A size, no locals, `unreachable`, `end`.
    const NOTHING: [u8; 4] = [3, 0, 0x00, 0x0b];
    let mut out = wasm.get(..8).context("not a module")?.to_vec();
    let mut place = None;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let Some((id, range)) = payload.as_section() else { continue };
        let content = wasm.get(range.start as usize..range.end as usize).context("it is cut off")?;
        match &payload {
            Payload::CodeSectionStart { .. } => {
                let bodies = CodeSectionReader::new(wasmparser::BinaryReader::new(content, range.start))?;
                let mut code = Vec::new();
                write_u32(&mut code, bodies.count());
                for body in bodies {
                    let range = body?.range();
                    if range.start != offset {
                        code.extend(NOTHING);
                        continue;
                    }
                    let bytes =
                        wasm.get(range.start as usize..range.end as usize).context("it is cut off")?;
                    write_u32(&mut code, bytes.len() as u32);
                    place = Some((code.len(), bytes.len()));
                    code.extend_from_slice(bytes);
                }
                out.push(id);
                write_u32(&mut out, code.len() as u32);
                place = place.map(|(at, length)| (out.len() + at, length));
                out.extend(code);
            }
            Payload::DataSection(_) | Payload::DataCountSection { .. } => {}
            Payload::CustomSection(section) if section.name() != "name" => {}
            _ => {
                out.push(id);
                write_u32(&mut out, content.len() as u32);
                out.extend_from_slice(content);
            }
        }
    }
    let (at, length) = place.context("the module has no function at its offset")?;
    Ok((out, at as u64..(at + length) as u64))
}

fn write_u32(out: &mut Vec<u8>, number: u32) {
    kperf_abi::leb128::write(out, number.into());
}

/// Writes the text with the self time of each instruction, and the calls that it may have made.
pub(super) fn write(listed: &Listed<'_>, row: &Row, text: &[Line], out: &mut impl Write) -> io::Result<()> {
    let nanos_per_tick = 1e9 / listed.profile.header.clock.ticks_per_second;
    let places = listed.profile.places.range((row.func, 0)..=(row.func, u32::MAX));
    let self_nanos: BTreeMap<u32, f64> =
        places.map(|(&(_, offset), place)| (offset, place.ticks as f64 * nanos_per_tick)).collect();
    writeln!(out, "{TITLES}  offset  text")?;
    let nexts = text.iter().skip(1).map(|(at, _)| *at).chain([u32::MAX]);
    for ((at, line), next) in text.iter().zip(nexts) {
        let inside: Vec<f64> = self_nanos.range(*at..next.max(*at)).map(|(_, nanos)| *nanos).collect();
        let sum = (!inside.is_empty()).then(|| inside.iter().sum());
        let figures = figures(sum, row.self_nanos, 0, 0.0, listed.unit);
        writeln!(out, "{}", format!("{figures}  {:>6}  {}", format!("{at:#x}"), printable(line)).trim_end())?;
    }
    Ok(())
}
