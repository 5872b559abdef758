//! Writes custom sections: names, debug information, branch hints, producers.

use super::{CUSTOM, HintSection, NameSection, Output, Sections};
use crate::debug_info::dwarf;
use crate::debug_info::source_map::{self, Moved};
use crate::error::Error;
use crate::instrument::name_section::Names;
use crate::instrument::{custom, hints, section};
use crate::warning::Warning;
use kperf_abi::FuncIndex;
use std::collections::HashSet;
use wasm_encoder::{Encode, Section as _};
use wasmparser::BinaryReader;

impl<'a> Sections<'a> {
    fn has_debug(&self, name: &str) -> bool {
        self.debug.iter().any(|(known, _)| *known == name)
    }

    /// Writes the debug information for the moved code, or drops all of it.
    pub(super) fn debug_sections(&mut self) {
        if self.debug.is_empty() {
            return;
        }
        let before = self.output.wasm.len();
        let info = self.writer.info;
        let written =
            dwarf::convert(info, &self.output.moves, self.context.moved_globals()).and_then(|converted| {
                self.debug.iter().try_for_each(|&(name, data)| {
                    section::write(&mut self.output.wasm, CUSTOM, |out| {
                        name.encode(out);
                        converted.write(name, data, out)
                    })
                })
            });
        if let Err(problem) = written {
            self.output.wasm.truncate(before);
            self.output.warnings.push(Warning::BadDebugInfo { message: problem.to_string() });
            let dropped =
                self.debug.iter().map(|&(name, _)| Warning::DroppedSection { name: name.to_owned() });
            self.output.warnings.extend(dropped);
        }
    }

    /// Writes the new module's source map, or its URL.
    pub(super) fn source_map(&mut self) {
        let Some((map, url)) = self.writer.source_map.filter(|_| self.writer.keeps_debug) else { return };
        let info = self.writer.info;
        let Some(code) = info.code() else { return };
        let Output { moves, code_start, wasm, .. } = &mut self.output;
        let (old, new) = (code.start as u64, *code_start as u64);
        let to = |offset: u64| {
            let address = offset.checked_sub(old)?;
            let body = moves.body(address, old, &info.bodies)?;
            Some(Moved { offset: new + moves.address(address, old, &info.bodies)?, body: new + body })
        };
        let first = |offset: u64| {
            let n = info.bodies.partition_point(|body| u64::from(body.end) <= offset);
            let operators = info.body(*info.bodies.get(n)?).get_operators_reader().ok()?;
            let address = operators.original_position().checked_sub(old)?;
            Some(new + moves.address(address, old, &info.bodies)?)
        };
        let moved = map.moved(to, first);
        let inline = url.is_none().then(|| source_map::to_inline(&moved));
        if let Some(url) = url.or(inline.as_deref()) {
            let mut data = Vec::with_capacity(url.len() + 5);
            url.encode(&mut data);
            section::write_custom(wasm, source_map::SECTION, &data);
        }
        self.output.source_map = Some(moved);
    }

    /// Inserts the branch hints before the code.
    pub(super) fn hints(&mut self) {
        let HintSection::Waits(at) = std::mem::replace(&mut self.hints, HintSection::Done) else { return };
        let Some(hints) = self.output.met.hints.section() else { return };
        let mut section = Vec::new();
        hints.append_to(&mut section);
        self.output.code_start += section.len();
        self.output.wasm.splice(at..at, section);
    }

    /// Writes a custom section; `content` begins with its name.
    pub(super) fn custom(&mut self, name: &str, content: &'a [u8]) -> Result<(), Error> {
        let dropped = Warning::DroppedSection { name: name.to_owned() };
        let code_is_written = !self.output.facts.is_empty() || self.writer.info.bodies.is_empty();
        if name == hints::SECTION && self.context.hints.is_some() && matches!(self.hints, HintSection::Unseen)
        {
            self.hints = HintSection::Waits(self.output.wasm.len());
            return Ok(());
        }
        if name == source_map::SECTION && self.writer.keeps_debug && self.writer.source_map.is_some() {
            return Ok(());
        }
        if !self.writer.keeps_debug && (dwarf::is_section(name) || name == source_map::SECTION) {
            return Ok(());
        }
        if dwarf::is_kept(name)
            && self.writer.keeps_debug
            && self.context.most_steps > 0
            && let Some((name, data)) = named_data_of(content).filter(|(name, _)| !self.has_debug(name))
        {
            self.debug.push((name, data));
            return Ok(());
        }
        if custom::goes_stale(name) {
            self.output.warnings.push(dropped);
            return Ok(());
        }
        match name {
            "name" => match self.names {
                NameSection::Unseen if code_is_written => return self.name_section(Some(data_of(content)?)),
                NameSection::Unseen => self.names = NameSection::Waits(data_of(content)?),
                NameSection::Waits(_) | NameSection::Written => self.output.warnings.push(dropped),
            },
            "target_features" if self.writer.parts.has_memory() || self.writer.parts.in_memory_of_program => {
                let features = self.writer.parts.features(self.writer.info.memories);
                let data = data_of(content)?;
                match custom::target_features(data, &features) {
                    Ok(data) => section::write_custom(&mut self.output.wasm, name, &data),
                    // It was malformed before, too.
                    Err(_) => section::write_custom(&mut self.output.wasm, name, data),
                }
            }
            "producers" if !self.producers_written => {
                self.producers_written = true;
                let data = data_of(content)?;
                if custom::producers(Some(data), &mut self.output.wasm).is_err() {
                    self.output.warnings.push(dropped);
                    custom::producers(None, &mut self.output.wasm)?;
                }
            }
            _ => section::write(&mut self.output.wasm, CUSTOM, |out| {
                out.extend_from_slice(content);
                Ok::<(), Error>(())
            })?,
        }
        Ok(())
    }

    /// Writes the name section. A malformed one is replaced by one with the known names; the pass has warned already.
    pub(super) fn name_section(&mut self, existing: Option<&[u8]>) -> Result<(), Error> {
        let padded: HashSet<FuncIndex> = (self.output.facts.iter().enumerate())
            .filter(|(_, facts)| facts.adds_labels)
            .map(|(n, _)| self.writer.info.defined(n))
            .collect();
        let names = Names {
            context: &self.context,
            plan: self.writer.plan,
            from_map: self.names_from_map,
            padded: &padded,
            facts: &self.output.facts,
        };
        self.names = NameSection::Written;
        let mut data = Vec::new();
        if names.write(existing, &mut data).is_err() {
            data.clear();
            names.write(None, &mut data)?;
        }
        section::write_custom(&mut self.output.wasm, "name", &data);
        Ok(())
    }
}

/// A custom section's name and data.
fn named_data_of(content: &[u8]) -> Option<(&str, &[u8])> {
    let section = wasmparser::CustomSectionReader::new(BinaryReader::new(content, 0)).ok()?;
    Some((section.name(), section.data()))
}

/// A custom section's data.
fn data_of(content: &[u8]) -> Result<&[u8], Error> {
    Ok(wasmparser::CustomSectionReader::new(BinaryReader::new(content, 0))?.data())
}
