//! Writes the new module, section by section. Unchanged sections are copied.

mod custom_sections;

use crate::debug_info::dwarf;
use crate::debug_info::source_map::SourceMap;
use crate::error::Error;
use crate::instrument::body;
use crate::instrument::body::facts::{BodyFacts, Met};
use crate::instrument::context::{COMMAND, Context};
use crate::instrument::form::Form;
use crate::instrument::form::Needs;
use crate::instrument::inside::Inside;
use crate::instrument::parts::Parts;
use crate::instrument::section::{self, Mover};
use crate::instrument::types::Types;
use crate::instrument::{custom, limits};
use crate::module::indices;
use crate::module::info::{BodyPlace, ModuleInfo, Section};
use crate::module::moves::Moves;
use crate::plan::allocators::Allocators;
use crate::plan::choose::Plan;
use crate::plan::reach::HostReach;
use crate::plan::waits::Wait;
use crate::recording::Clock;
use crate::warning::Warning;
use kperf_abi::{FuncIndex, SymbolTable};
use rayon::prelude::*;
use std::collections::BTreeSet;
use wasm_encoder::reencode::Reencode;
use wasm_encoder::{Encode, Section as _, SectionId};
use wasmparser::BinaryReader;

/// Bytes of bodies that are rewritten at a time: enough for all cores, little compared with the module.
const BATCH: usize = 1 << 20;

/// Approximate bytes of a function in the packed symbol table.
const SYMBOL_SIZE: usize = 12;

const CUSTOM: u8 = SectionId::Custom as u8;
const TYPE: u8 = SectionId::Type as u8;
const IMPORT: u8 = SectionId::Import as u8;
const FUNCTION: u8 = SectionId::Function as u8;
const TABLE: u8 = SectionId::Table as u8;
const MEMORY: u8 = SectionId::Memory as u8;
const GLOBAL: u8 = SectionId::Global as u8;
const EXPORT: u8 = SectionId::Export as u8;
const START: u8 = SectionId::Start as u8;
const ELEMENT: u8 = SectionId::Element as u8;
const CODE: u8 = SectionId::Code as u8;
const DATA: u8 = SectionId::Data as u8;
const DATA_COUNT: u8 = SectionId::DataCount as u8;

/// What the pass decided before it reads bodies.
pub(crate) struct Writer<'a> {
    pub(crate) info: &'a ModuleInfo<'a>,
    pub(crate) reach: &'a HostReach,
    pub(crate) plan: &'a Plan,
    /// The instructions with which a thread waits, if they get probes.
    pub(crate) waits: &'a BTreeSet<Wait>,
    pub(crate) symbols: &'a SymbolTable,
    pub(crate) needs: Needs,
    pub(crate) form: &'a dyn Form,
    /// The parts that are added.
    pub(crate) parts: &'a Parts,
    /// Whether debug information is kept.
    pub(crate) keeps_debug: bool,
    /// Whether the symbol table contains the moves of code.
    pub(crate) tells_moves: bool,
    /// The module's source map, and the URL of the new one; without a URL the new one goes into the module.
    pub(crate) source_map: Option<(&'a SourceMap, Option<&'a str>)>,
    pub(crate) clock: Clock,
    pub(crate) allocators: &'a Allocators,
    /// Where a module that records itself writes its trace.
    pub(crate) trace_path: &'a str,
}

/// The new module, and what the pass learned from its bodies.
pub(crate) struct Output {
    pub(crate) wasm: Vec<u8>,
    /// One for each defined function.
    pub(crate) facts: Vec<BodyFacts>,
    pub(crate) met: Met,
    /// The moves of code, if they are wanted.
    pub(crate) moves: Moves,
    /// Start of the code section's content.
    pub(crate) code_start: usize,
    /// The source map of the new module, if it has one.
    pub(crate) source_map: Option<String>,
    pub(crate) warnings: Vec<Warning>,
}

struct Sections<'a> {
    writer: &'a Writer<'a>,
    context: Context<'a>,
    types: Types<'a>,
    names_from_map: bool,
    names: NameSection<'a>,
    producers_written: bool,
    hints: HintSection,
    /// The sections of debug information, by name and data. They are written after all bodies.
    debug: Vec<(&'a str, &'a [u8])>,
    output: Output,
}

/// The name section. Readers take only one; a thousand of them would each get all names.
#[derive(Clone, Copy)]
enum NameSection<'a> {
    /// None so far.
    Unseen,
    /// It came before the code. It is written at the end, since names of labels and locals depend on the bodies.
    Waits(&'a [u8]),
    Written,
}

/// The section of branch hints.
#[derive(Clone, Copy)]
enum HintSection {
    Unseen,
    /// Its offset in the new module. It is written after the bodies.
    Waits(usize),
    Done,
}

/// The most steps of a body for the places of samples. A body with more is a megabyte of code.
const MOST_STEPS: usize = 1 << 18;

impl Writer<'_> {
    pub(crate) fn write(&self, names_from_map: bool) -> Result<Output, Error> {
        let mut types = Types::new(self.info);
        let (form, parts) = (self.form, self.parts);
        let context = Context::new(self.info, self.reach, self.plan, self.needs, form, parts, &mut types)?;
        let context = context
            .waiting(self.waits, &mut types)
            .counting(self.clock)?
            .recording(self.allocators, self.needs)?;
        let mut context = context.inside(self.symbols, self.trace_path)?;
        let mut sections = self.info.sections.iter();
        let mut has_debug =
            || sections.any(|section| section.custom_name.as_deref().is_some_and(dwarf::is_kept));
        let follows = self.keeps_debug && (has_debug() || self.source_map.is_some());
        context.most_steps = match follows {
            true => usize::MAX,
            false if self.tells_moves => MOST_STEPS,
            false => 0,
        };
        limits::check(self.info, &context, types.added())?;
        let symbols = self.symbols.symbols.len();
        let room = self.info.wasm.len() + symbols * (context.code.size() + SYMBOL_SIZE);
        let output = Output {
            wasm: Vec::with_capacity(room + room / 16),
            facts: Vec::with_capacity(self.info.bodies.len()),
            met: Met::default(),
            moves: Moves::default(),
            code_start: 0,
            source_map: None,
            warnings: Vec::new(),
        };
        let mut sections = Sections {
            writer: self,
            context,
            types,
            names_from_map,
            names: NameSection::Unseen,
            producers_written: false,
            hints: HintSection::Unseen,
            debug: Vec::new(),
            output,
        };
        sections.write()?;
        Ok(sections.output)
    }
}

impl<'a> Sections<'a> {
    fn write(&mut self) -> Result<(), Error> {
        let info = self.writer.info;
        self.output.wasm.extend_from_slice(&wasm_encoder::Module::HEADER);
        let mut needed = self.needed().into_iter().peekable();
        for section in &info.sections {
            if section.id != CUSTOM {
                // Sections that the original lacks and that come before this one.
                while let Some(missing) = needed.next_if(|&id| order(id) < order(section.id)) {
                    self.changed(missing, &[], 0)?;
                }
                needed.next_if_eq(&section.id);
            }
            self.section(section)?;
        }
        for missing in needed {
            self.changed(missing, &[], 0)?;
        }
        match self.names {
            NameSection::Unseen => self.name_section(None)?,
            NameSection::Waits(data) => self.name_section(Some(data))?,
            NameSection::Written => {}
        }
        if !self.producers_written {
            custom::producers(None, &mut self.output.wasm)?;
        }
        self.debug_sections();
        self.source_map();
        Ok(())
    }

    /// Sections that the rewritten module has in any case, in order.
    fn needed(&self) -> Vec<u8> {
        let Context { parts, places, .. } = &self.context;
        let needed = [
            (TYPE, true),
            (IMPORT, true),
            (FUNCTION, true),
            (MEMORY, parts.has_memory() || parts.in_memory_of_program),
            (GLOBAL, parts.has_globals()),
            (EXPORT, parts.has_exports()),
            (START, parts.start(places).is_some()),
            (CODE, true),
            (DATA, parts.in_memory_of_program),
        ];
        needed.into_iter().filter_map(|(id, is_needed)| is_needed.then_some(id)).collect()
    }

    fn section(&mut self, section: &Section) -> Result<(), Error> {
        let info: &'a ModuleInfo<'a> = self.writer.info;
        let content = &info.wasm[section.content.clone()];
        match &section.custom_name {
            Some(name) => self.custom(name, content),
            None => self.changed(section.id, content, section.content.start as u64),
        }
    }

    /// Writes a section of the core specification; `offset` is the offset of its content in the input.
    fn changed(&mut self, id: u8, content: &[u8], offset: u64) -> Result<(), Error> {
        // A missing section is read as an empty one.
        let reader = || BinaryReader::new(if content.is_empty() { &[0] } else { content }, offset);
        let out = &mut self.output.wasm;
        let parts = self.writer.parts;
        let context = &self.context;
        let mut mover = Mover(context);
        match id {
            TYPE => {
                let types = &self.types;
                section::write_appended(out, id, content, types.added(), |out| types.encode_added(out))
            }
            IMPORT => section::write_appended(out, id, content, parts.all_imports(), |out| {
                parts.encode_imports(&context.places, out);
                Ok(())
            }),
            FUNCTION => {
                let thunks: Vec<u32> = context
                    .thunked()
                    .map(|(import, _)| context.info.imported_funcs[import as usize].type_index)
                    .collect();
                let waits = context.waits();
                let added = (thunks.len() + waits.len()) as u32 + parts.function_count();
                section::write_appended(out, id, content, added, |out| {
                    thunks.iter().for_each(|type_index| type_index.encode(out));
                    parts.encode_functions(&context.places, out);
                    waits.iter().for_each(|(_, type_index, _)| type_index.encode(out));
                    Ok(())
                })
            }
            MEMORY if let Some(inside) = &context.inside => section::write(out, id, |out| {
                inside.encode_memory(out);
                Ok(())
            }),
            MEMORY => section::write_appended(out, id, content, u32::from(parts.has_memory()), |out| {
                parts.encode_memory(&context.places, out);
                Ok(())
            }),
            TABLE => {
                let mut section = wasm_encoder::TableSection::new();
                mover.parse_table_section(&mut section, wasmparser::TableSectionReader::new(reader())?)?;
                section.append_to(out);
                Ok(())
            }
            GLOBAL => {
                let mut section = wasm_encoder::GlobalSection::new();
                mover.parse_global_section(&mut section, wasmparser::GlobalSectionReader::new(reader())?)?;
                parts.encode_globals(&context.places, &mut section)?;
                section.append_to(out);
                Ok(())
            }
            EXPORT => {
                let mut section = wasm_encoder::ExportSection::new();
                let command = context.inside.as_ref().and_then(Inside::command);
                for export in wasmparser::ExportSectionReader::new(reader())? {
                    let export = export?;
                    match command.filter(|_| is_command(&export)) {
                        Some(command) => {
                            section.export(export.name, wasm_encoder::ExportKind::Func, command);
                        }
                        None => mover.parse_export(&mut section, export)?,
                    }
                }
                parts.encode_exports(&context.places, &mut section);
                section.append_to(out);
                Ok(())
            }
            ELEMENT => {
                let mut section = wasm_encoder::ElementSection::new();
                mover
                    .parse_element_section(&mut section, wasmparser::ElementSectionReader::new(reader())?)?;
                section.append_to(out);
                Ok(())
            }
            START => {
                let function = match parts.start(&context.places) {
                    // It calls the module's own.
                    Some(start) => start,
                    None => context.function(reader().read_var_u32()?),
                };
                section::write(out, id, |out| {
                    function.encode(out);
                    Ok(())
                })
            }
            CODE => {
                if matches!(self.hints, HintSection::Unseen) {
                    self.hints = HintSection::Waits(self.output.wasm.len());
                }
                self.code()?;
                self.hints();
                Ok(())
            }
            DATA if context.moves_globals() => {
                let mut section = wasm_encoder::DataSection::new();
                mover.parse_data_section(&mut section, wasmparser::DataSectionReader::new(reader())?)?;
                section.append_to(out);
                Ok(())
            }
            DATA if let Some(inside) = &context.inside => {
                indices::check_data(context.info, wasmparser::DataSectionReader::new(reader())?)?;
                section::write_appended(out, id, content, Inside::SEGMENTS, |out| {
                    inside.encode_data(out);
                    Ok(())
                })
            }
            DATA_COUNT if context.inside.is_some() => {
                let count = reader().read_var_u32()?.saturating_add(Inside::SEGMENTS);
                section::write(out, id, |out| {
                    count.encode(out);
                    Ok(())
                })
            }
            DATA if parts.has_state() => {
                indices::check_data(context.info, wasmparser::DataSectionReader::new(reader())?)?;
                section::write(out, id, |out| {
                    out.extend_from_slice(content);
                    Ok(())
                })
            }
            _ => section::write(out, id, |out| {
                out.extend_from_slice(content);
                Ok(())
            }),
        }
    }

    /// Writes the code section in batches of bodies, in parallel.
    fn code(&mut self) -> Result<(), Error> {
        let context = &self.context;
        let info = self.writer.info;
        let thunks: Vec<_> = context.thunked().collect();
        let parts = self.writer.parts;
        let own = parts.function_count();
        let Output { wasm, facts, met, moves, .. } = &mut self.output;
        let mut size = 0;
        section::write(wasm, CODE, |out| {
            let start = out.len();
            ((info.bodies.len() + thunks.len() + context.waits().len()) as u32 + own).encode(out);
            let mut first = 0;
            while first < info.bodies.len() {
                let batch = batch(&info.bodies[first..]);
                // Several pieces for each core, so that one with a huge body doesn't delay the others.
                let piece = batch.len().div_ceil(4 * rayon::current_num_threads()).max(1);
                let pieces = batch
                    .par_chunks(piece)
                    .enumerate()
                    .map(|(n, bodies)| rewrite_piece(context, first + n * piece, bodies))
                    .collect::<Result<Vec<_>, Error>>()?;
                for (bytes, piece_facts, piece_met) in pieces {
                    moves.add(piece_met.moves, out.len() - start);
                    out.extend_from_slice(&bytes);
                    facts.extend(piece_facts);
                    met.tail_calls.extend(piece_met.tail_calls);
                    met.switches.extend(piece_met.switches);
                    met.hints.extend(&piece_met.hints);
                }
                first += batch.len();
            }
            for &(import, id) in &thunks {
                let signature = info.func_type(FuncIndex(import));
                let params = signature.map_or(0, |signature| signature.params().len() as u32);
                let hints = body::thunk::write(context, import, id, params, out);
                met.hints.add(context.callee(import), &hints);
            }
            parts.encode_bodies(&context.places, out)?;
            for &(wait, _, thunk) in context.waits() {
                met.hints.add(thunk, &body::thunk::write_wait(context, wait, out));
            }
            size = out.len() - start;
            Ok::<(), Error>(())
        })?;
        self.output.code_start = wasm.len() - size;
        Ok(())
    }
}

/// Whether an export runs a command of WASI.
fn is_command(export: &wasmparser::Export<'_>) -> bool {
    export.name == COMMAND && export.kind == wasmparser::ExternalKind::Func
}

/// The first bodies, of about [`BATCH`] bytes.
fn batch(bodies: &[BodyPlace]) -> &[BodyPlace] {
    let mut bytes = 0;
    let end = bodies.iter().position(|body| {
        bytes += room(body);
        bytes > BATCH
    });
    &bodies[..end.map_or(bodies.len(), |end| end + 1)]
}

/// Approximate bytes of a body with its probe.
fn room(body: &BodyPlace) -> usize {
    (body.end - body.start) as usize + 32
}

/// Rewrites successive bodies, the first of which is the module's `first`-th.
fn rewrite_piece(
    context: &Context<'_>,
    first: usize,
    bodies: &[BodyPlace],
) -> Result<(Vec<u8>, Vec<BodyFacts>, Met), Error> {
    let size: usize = bodies.iter().map(room).sum();
    let mut out = Vec::with_capacity(size + size / 8);
    let mut facts = Vec::with_capacity(bodies.len());
    let mut met = Met::default();
    for (n, &body) in bodies.iter().enumerate() {
        let index = context.info.defined(first + n);
        facts.push(body::rewrite(context, index, &context.info.body(body), &mut out, &mut met)?);
    }
    Ok((out, facts, met))
}

/// The position of a section in a module. Ids have another order.
fn order(id: u8) -> u8 {
    const TAG: u8 = SectionId::Tag as u8;
    match id {
        TAG => 2 * SectionId::Memory as u8 + 1,
        DATA_COUNT => 2 * ELEMENT + 1,
        id => 2 * id,
    }
}
