//! [`Plan`] to bytes: the new module, section by section. What needs no change is copied as it stands.

use crate::body::{self, BodyFacts};
use crate::context::{Context, Needs};
use crate::name_section::Names;
use crate::parse::{BodyPlace, ModuleInfo, Section};
use crate::reach::HostReach;
use crate::section::{self, Mover};
use crate::template::Recorder;
use crate::types::Types;
use crate::{Error, Plan, Warning, custom, indices, limits};
use kperf_abi::{FuncIndex, SymbolTable, names as abi};
use rayon::prelude::*;
use std::collections::HashSet;
use wasm_encoder::reencode::Reencode;
use wasm_encoder::{Encode, Section as _, SectionId};
use wasmparser::{BinaryReader, ValType};

/// How many bytes of bodies are rewritten at a time: enough for all cores, little beside the module.
const BATCH: usize = 1 << 20;

/// Bytes of a function in the symbol table, once packed, more or less.
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

/// Sections that the rewritten module has even if the original hasn't, in their order; and with a recorder of its own.
const NEEDED: [u8; 4] = [TYPE, IMPORT, FUNCTION, CODE];
const NEEDED_INLINE: [u8; 7] = [TYPE, IMPORT, FUNCTION, MEMORY, GLOBAL, EXPORT, CODE];
const NEEDED_PROFILE: [u8; 8] = [TYPE, IMPORT, FUNCTION, MEMORY, GLOBAL, EXPORT, START, CODE];

/// What the pass decided before any body is read.
pub(crate) struct Writer<'a> {
    pub(crate) info: &'a ModuleInfo<'a>,
    pub(crate) reach: &'a HostReach,
    pub(crate) plan: &'a Plan,
    pub(crate) symbols: &'a SymbolTable,
    pub(crate) needs: Needs,
    /// What becomes a part of the module, if the probes are not imported.
    pub(crate) recorder: Option<&'a Recorder>,
}

/// A module, what its bodies turned out to need, and what was left out.
pub(crate) struct Output {
    pub(crate) wasm: Vec<u8>,
    /// One for each function that the module defines.
    pub(crate) facts: Vec<BodyFacts>,
    pub(crate) warnings: Vec<Warning>,
}

/// The types of `enter`, `leave` and `unwind`.
struct ProbeTypes {
    enter: u32,
    leave: u32,
}

struct Sections<'a> {
    writer: &'a Writer<'a>,
    context: Context<'a>,
    types: Types<'a>,
    /// Where probes are imported.
    probe_types: Option<ProbeTypes>,
    names_from_map: bool,
    names_written: bool,
    producers_written: bool,
    output: Output,
}

impl Writer<'_> {
    pub(crate) fn write(&self, names_from_map: bool) -> Result<Output, Error> {
        let mut types = Types::new(self.info);
        let probe_types = self.recorder.is_none().then(|| ProbeTypes {
            enter: types.function(&[ValType::I32], &[ValType::I32]),
            leave: types.function(&[ValType::I32], &[]),
        });
        let context = Context::new(self.info, self.reach, self.plan, self.needs, self.recorder, &mut types)?;
        limits::check(self.info, &context, self.recorder, types.added())?;
        let symbols = self.symbols.symbols.len();
        let room = self.info.wasm.len() + symbols * (context.code.size() + SYMBOL_SIZE);
        let output = Output {
            wasm: Vec::with_capacity(room + room / 16),
            facts: Vec::with_capacity(self.info.bodies.len()),
            warnings: Vec::new(),
        };
        let mut sections = Sections {
            writer: self,
            context,
            types,
            probe_types,
            names_from_map,
            names_written: false,
            producers_written: false,
            output,
        };
        sections.write()?;
        Ok(sections.output)
    }
}

impl Sections<'_> {
    fn write(&mut self) -> Result<(), Error> {
        let info = self.writer.info;
        self.output.wasm.extend_from_slice(&wasm_encoder::Module::HEADER);
        let needed = match self.writer.recorder {
            None => NEEDED.as_slice(),
            Some(recorder) if recorder.counts_calls() => &NEEDED_PROFILE,
            Some(_) => &NEEDED_INLINE,
        };
        let mut needed = needed.iter().copied().peekable();
        for section in &info.sections {
            if section.id != CUSTOM {
                // Whatever must stand before this section and isn't in the original.
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
        let has =
            |name: &str| info.sections.iter().any(|section| section.custom_name.as_deref() == Some(name));
        if !has("name") {
            self.name_section(None)?;
        }
        if !has("producers") {
            custom::producers(None, &mut self.output.wasm)?;
        }
        section::write_custom(&mut self.output.wasm, abi::SYMBOLS_SECTION, &self.writer.symbols.to_bytes());
        Ok(())
    }

    fn section(&mut self, section: &Section) -> Result<(), Error> {
        let content = &self.writer.info.wasm[section.content.clone()];
        match &section.custom_name {
            Some(name) => self.custom(name, content),
            None => self.changed(section.id, content, section.content.start as u64),
        }
    }

    /// Writes a section of the core specification; `offset` is where its content begins in the input.
    fn changed(&mut self, id: u8, content: &[u8], offset: u64) -> Result<(), Error> {
        // A section that the original hasn't is read as an empty one.
        let reader = || BinaryReader::new(if content.is_empty() { &[0] } else { content }, offset);
        let out = &mut self.output.wasm;
        let recorder = self.writer.recorder;
        let context = &self.context;
        let mut mover = Mover(context);
        match id {
            TYPE => {
                let types = &self.types;
                section::write_appended(out, id, content, types.added(), |out| types.encode_added(out))
            }
            IMPORT => section::write_appended(out, id, content, context.shift, |out| {
                match (recorder, &self.probe_types) {
                    (Some(recorder), _) => recorder.encode_imports(&context.places, out),
                    (None, Some(types)) => types.encode_imports(context.shift, out),
                    (None, None) => {}
                }
                Ok(())
            }),
            FUNCTION => {
                let thunks: Vec<u32> = context
                    .thunked()
                    .map(|(import, _)| context.info.imported_funcs[import as usize].type_index)
                    .collect();
                let own = recorder.map_or(0, Recorder::function_count);
                section::write_appended(out, id, content, thunks.len() as u32 + own, |out| {
                    thunks.iter().for_each(|type_index| type_index.encode(out));
                    if let Some(recorder) = recorder {
                        recorder.encode_functions(&context.places, out);
                    }
                    Ok(())
                })
            }
            MEMORY => section::write_appended(out, id, content, u32::from(recorder.is_some()), |out| {
                if let Some(recorder) = recorder {
                    recorder.encode_memory(&context.places, out);
                }
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
                if let Some(recorder) = recorder {
                    recorder.encode_globals(&context.places, &mut section)?;
                }
                section.append_to(out);
                Ok(())
            }
            EXPORT => {
                let mut section = wasm_encoder::ExportSection::new();
                mover.parse_export_section(&mut section, wasmparser::ExportSectionReader::new(reader())?)?;
                if let Some(recorder) = recorder {
                    recorder.encode_exports(&context.places, &mut section);
                }
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
                let function = match recorder.filter(|recorder| recorder.counts_calls()) {
                    // Which calls the module's own.
                    Some(recorder) => recorder.function(&context.places, abi::START)?,
                    None => context.function(reader().read_var_u32()?),
                };
                section::write(out, id, |out| {
                    function.encode(out);
                    Ok(())
                })
            }
            CODE => self.code(),
            DATA if recorder.is_some() => {
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

    /// The code section, a batch of bodies at a time, in parallel.
    fn code(&mut self) -> Result<(), Error> {
        let context = &self.context;
        let info = self.writer.info;
        let thunks: Vec<_> = context.thunked().collect();
        let recorder = self.writer.recorder;
        let own = recorder.map_or(0, Recorder::function_count);
        let facts = &mut self.output.facts;
        section::write(&mut self.output.wasm, CODE, |out| {
            ((info.bodies.len() + thunks.len()) as u32 + own).encode(out);
            let mut first = 0;
            while first < info.bodies.len() {
                let batch = batch(&info.bodies[first..]);
                // Several pieces for each core, so that one with a huge body doesn't keep the others waiting.
                let piece = batch.len().div_ceil(4 * rayon::current_num_threads()).max(1);
                let pieces = batch
                    .par_chunks(piece)
                    .enumerate()
                    .map(|(n, bodies)| rewrite_piece(context, first + n * piece, bodies))
                    .collect::<Result<Vec<_>, Error>>()?;
                for (bytes, piece_facts) in pieces {
                    out.extend_from_slice(&bytes);
                    facts.extend(piece_facts);
                }
                first += batch.len();
            }
            for &(import, id) in &thunks {
                let signature = info.func_type(FuncIndex(import));
                let params = signature.map_or(0, |signature| signature.params().len() as u32);
                body::write_thunk(context, import, id, params, out);
            }
            if let Some(recorder) = recorder {
                recorder.encode_bodies(&context.places, out)?;
            }
            Ok(())
        })
    }

    /// A custom section; `content` begins with its name.
    fn custom(&mut self, name: &str, content: &[u8]) -> Result<(), Error> {
        let dropped = Warning::DroppedSection { name: name.to_owned() };
        if custom::goes_stale(name) {
            self.output.warnings.push(dropped);
            return Ok(());
        }
        match name {
            // One of each is read by anybody; the others of a thousand would each get all names.
            "name" if self.names_written => self.output.warnings.push(dropped),
            "name" => return self.name_section(Some(data_of(content)?)),
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

    /// A section that can't be read is replaced by one with what is known; the pass has warned of it already.
    fn name_section(&mut self, existing: Option<&[u8]>) -> Result<(), Error> {
        let padded: HashSet<FuncIndex> = (self.output.facts.iter().enumerate())
            .filter(|(_, facts)| facts.adds_pads)
            .map(|(n, _)| self.writer.info.defined(n))
            .collect();
        let names = Names {
            context: &self.context,
            plan: self.writer.plan,
            recorder: self.writer.recorder,
            from_map: self.names_from_map,
            padded: &padded,
            facts: &self.output.facts,
        };
        self.names_written = true;
        let mut data = Vec::new();
        if names.write(existing, &mut data).is_err() {
            data.clear();
            names.write(None, &mut data)?;
        }
        section::write_custom(&mut self.output.wasm, "name", &data);
        Ok(())
    }
}

impl ProbeTypes {
    fn encode_imports(&self, count: u32, out: &mut Vec<u8>) {
        let imports = [(abi::ENTER, self.enter), (abi::LEAVE, self.leave), (abi::UNWIND, self.leave)];
        for (name, type_index) in imports.into_iter().take(count as usize) {
            abi::MODULE.encode(out);
            name.encode(out);
            wasm_encoder::EntityType::Function(type_index).encode(out);
        }
    }
}

/// The first bodies, of [`BATCH`] bytes or a little more.
fn batch(bodies: &[BodyPlace]) -> &[BodyPlace] {
    let mut bytes = 0;
    let end = bodies.iter().position(|body| {
        bytes += room(body);
        bytes > BATCH
    });
    &bodies[..end.map_or(bodies.len(), |end| end + 1)]
}

/// The room that a body takes with its probe, more or less.
fn room(body: &BodyPlace) -> usize {
    (body.end - body.start) as usize + 32
}

/// Rewrites neighbouring bodies, the first of which is the `first`-th of the module.
fn rewrite_piece(
    context: &Context<'_>,
    first: usize,
    bodies: &[BodyPlace],
) -> Result<(Vec<u8>, Vec<BodyFacts>), Error> {
    let size: usize = bodies.iter().map(room).sum();
    let mut out = Vec::with_capacity(size + size / 8);
    let mut facts = Vec::with_capacity(bodies.len());
    for (n, &body) in bodies.iter().enumerate() {
        let index = context.info.defined(first + n);
        facts.push(body::rewrite(context, index, &context.info.body(body), &mut out)?);
    }
    Ok((out, facts))
}

/// What stands behind a custom section's name.
fn data_of(content: &[u8]) -> Result<&[u8], Error> {
    Ok(wasmparser::CustomSectionReader::new(BinaryReader::new(content, 0))?.data())
}

/// Where a section stands among the others, which its id doesn't say.
fn order(id: u8) -> u8 {
    const TAG: u8 = SectionId::Tag as u8;
    const DATA_COUNT: u8 = SectionId::DataCount as u8;
    match id {
        TAG => 2 * SectionId::Memory as u8 + 1,
        DATA_COUNT => 2 * ELEMENT + 1,
        id => 2 * id,
    }
}
