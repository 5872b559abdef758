//! The parts that probes add to a module: imports, and the functions, globals and memory of a recorder inside.
//!
//! - A recorder inside is `recorder.wat` in its inline form, `profile.wat` or `counts.wat`.
//! - Its functions, globals and memory come after the module's own.
//! - The bodies of its `inline.*` functions are templates, which are copied into probed functions (see
//!   [`crate::instrument::template`]).

mod indices;

pub(crate) use indices::PartIndices;

use crate::error::{Error, ErrorKind};
use crate::instrument::hints::{self, Hints};
use crate::instrument::template::Template;
use crate::instrument::types::Types;
use indices::Mover;
use kperf_abi::FuncIndex;
use kperf_abi::names::{self, exported};
use kperf_abi::recorder::Form;
use kperf_abi::shadow;
use std::collections::HashMap;
use wasm_encoder::reencode::Reencode;
use wasm_encoder::{ConstExpr, Encode, EntityType, ExportKind, Instruction};
use wasmparser::{ExternalKind, FuncType, FunctionBody, Global, Name, Parser, Payload, TypeRef, ValType};

/// The prefix of templates.
const TEMPLATE: &str = "inline.";

/// The added parts, with indices of their own.
pub(crate) struct Parts {
    /// The module that it imports from.
    module: &'static str,
    types: Vec<FuncType>,
    /// Name and type of each imported function.
    imports: Vec<(&'static str, u32)>,
    /// Name of the imported counter: a mutable global of type `i64`.
    counter: Option<&'static str>,
    /// Type of each added function.
    functions: Vec<u32>,
    bodies: Vec<FunctionBody<'static>>,
    /// Pages of the added memory, by the number of functions.
    memory: Option<fn(u32) -> u32>,
    is_shared: bool,
    /// Whether the recorder is in the program's memory, rather than in an added one.
    pub(crate) in_memory_of_program: bool,
    /// Whether each probed function has a global with its count, after the other globals.
    counts: bool,
    globals: Vec<Global<'static>>,
    exports: Vec<(&'static str, ExternalKind, u32)>,
    names: HashMap<u32, &'static str>,
    /// Branch hints of the templates.
    hints: Hints,
    /// Number of leading template parameters that become constants.
    constants: u32,
}

/// A global that counts.
const COUNTER: wasm_encoder::GlobalType =
    wasm_encoder::GlobalType { val_type: wasm_encoder::ValType::I64, mutable: true, shared: false };

/// Numbers of added items. Not every item is exported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) functions: usize,
    pub(crate) memories: usize,
    pub(crate) globals: usize,
    pub(crate) exports: usize,
}

impl Parts {
    /// No parts yet; imports come from this module.
    pub(crate) fn importing(module: &'static str) -> Parts {
        Parts {
            module,
            types: Vec::new(),
            imports: Vec::new(),
            counter: None,
            functions: Vec::new(),
            bodies: Vec::new(),
            memory: None,
            is_shared: true,
            in_memory_of_program: false,
            counts: false,
            globals: Vec::new(),
            exports: Vec::new(),
            names: HashMap::new(),
            hints: Hints::new(),
            constants: 0,
        }
    }

    /// Adds an imported function.
    pub(crate) fn import(&mut self, name: &'static str, params: &[ValType], results: &[ValType]) {
        self.imports.push((name, self.types.len() as u32));
        self.types.push(FuncType::new(params.iter().copied(), results.iter().copied()));
    }

    /// Adds the imported counter: a mutable global of type `i64`.
    pub(crate) fn import_counter(&mut self, name: &'static str) {
        self.counter = Some(name);
    }

    /// The parts of a recorder in `kperf-abi`. `pages` returns its memory's pages for a number of functions.
    /// An error here is a bug.
    pub(crate) fn of_recorder(form: Form, pages: fn(u32) -> u32) -> Result<Parts, Error> {
        let mut parts = Parts::importing(names::HOST_MODULE);
        parts.memory = Some(pages);
        parts.constants = form.constants();
        for payload in Parser::new(0).parse_all(form.wasm()) {
            parts.section(payload?)?;
        }
        Ok(parts)
    }

    /// The same in the program's memory, which gets pages for it. WASI has the imports.
    pub(crate) fn in_memory_of_program(form: Form) -> Result<Parts, Error> {
        let parts = Parts::of_recorder(form, |_| 0)?;
        Ok(Parts { module: names::WASI, memory: None, in_memory_of_program: true, ..parts })
    }

    fn section(&mut self, payload: Payload<'static>) -> Result<(), Error> {
        match payload {
            Payload::TypeSection(types) => {
                for ty in types.into_iter_err_on_gc_types() {
                    self.types.push(ty?);
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    if let TypeRef::Func(ty) = import.ty {
                        self.imports.push((import.name, ty));
                    }
                }
            }
            Payload::FunctionSection(functions) => {
                self.functions = functions.into_iter().collect::<Result<_, _>>()?;
            }
            Payload::GlobalSection(globals) => {
                self.globals = globals.into_iter().collect::<Result<_, _>>()?
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    self.exports.push((export.name, export.kind, export.index));
                }
            }
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::CustomSection(section) if section.name() == hints::SECTION => {
                self.hints = hints::read(section.data(), section.data_offset())?;
            }
            Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::Name(names) = section.as_known() {
                    for name in names {
                        let Name::Function(map) = name? else { continue };
                        for naming in map {
                            let naming = naming?;
                            self.names.insert(naming.index, naming.name);
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Number of imported functions.
    pub(crate) fn import_count(&self) -> u32 {
        self.imports.len() as u32
    }

    /// Number of imports.
    pub(crate) fn all_imports(&self) -> u32 {
        self.import_count() + self.global_import_count()
    }

    /// Number of imported globals.
    pub(crate) fn global_import_count(&self) -> u32 {
        u32::from(self.counter.is_some())
    }

    /// Whether memories or globals are added. They follow the module's own, or come between them.
    pub(crate) fn has_state(&self) -> bool {
        self.has_memory() || self.has_globals() || self.counter.is_some()
    }

    pub(crate) fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    pub(crate) fn has_globals(&self) -> bool {
        !self.globals.is_empty()
    }

    pub(crate) fn has_exports(&self) -> bool {
        !self.exports.is_empty()
    }

    /// The same with a memory that isn't shared.
    pub(crate) fn with_own_memory(self) -> Parts {
        Parts { is_shared: false, ..self }
    }

    /// The same with counts in globals instead of a memory.
    pub(crate) fn counting_in_globals(mut self) -> Parts {
        self.exports.retain(|export| export.1 != ExternalKind::Memory);
        Parts { counts: true, memory: None, ..self }
    }

    /// New index of the global with the first count.
    pub(crate) fn first_count(&self, places: &PartIndices) -> u32 {
        places.first_global + (self.globals.len() + shadow::MARK.len()) as u32
    }

    /// How many globals have counts or mark them, for so many probed functions.
    fn count_globals(&self, functions: u32) -> usize {
        if self.counts { shadow::MARK.len() + functions as usize } else { 0 }
    }

    /// Features that the memory needs of an engine, by LLVM's names.
    pub(crate) fn features(&self, memories: u32) -> Vec<&'static str> {
        let exports_mutable = self.exports.iter().any(|&(_, kind, index)| {
            let global = self.globals.get(index as usize).filter(|_| kind == ExternalKind::Global);
            global.is_some_and(|global| global.ty.mutable)
        });
        let has_memory = self.has_memory();
        let several = (has_memory && memories > 0).then_some("multimemory");
        let mutable = exports_mutable || self.counter.is_some();
        let bulk = self.in_memory_of_program.then_some("bulk-memory");
        [has_memory.then_some("atomics"), several, mutable.then_some("mutable-globals"), bulk]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Types of the added functions. The templates after them are not added.
    fn own(&self) -> &[u32] {
        let templates = self.exports.iter().filter(|export| export.0.starts_with(TEMPLATE));
        let first = templates.map(|export| export.2.saturating_sub(self.import_count())).min();
        self.functions.get(..first.unwrap_or(0) as usize).unwrap_or_default()
    }

    /// Number of added functions.
    pub(crate) fn function_count(&self) -> u32 {
        self.own().len() as u32
    }

    /// Numbers of added items for so many probed functions, except types and imports.
    pub(crate) fn counts(&self, probed: u32) -> Counts {
        let functions = self.own().len();
        let memories = usize::from(self.has_memory());
        let globals = self.globals.len() + self.global_import_count() as usize;
        let globals = globals + self.count_globals(probed);
        Counts { functions, memories, globals, exports: self.exports.len() }
    }

    /// Adds the types; returns the index of each. Types of templates are not added.
    pub(crate) fn place_types(&self, types: &mut Types<'_>) -> Vec<u32> {
        let used = |index: usize| {
            let mut all = self.own().iter().chain(self.imports.iter().map(|(_, ty)| ty));
            all.any(|&ty| ty as usize == index)
        };
        let signatures = self.types.iter().enumerate();
        signatures
            .map(|(n, ty)| if used(n) { types.function(ty.params(), ty.results()) } else { u32::MAX })
            .collect()
    }

    /// Names of the imports, then of the functions.
    pub(crate) fn function_names(&self) -> impl Iterator<Item = String> {
        let own = self.import_count()..self.import_count() + self.function_count();
        let imports = self.imports.iter().map(|(name, _)| format!("{}.{name}", self.module));
        imports.chain(own.map(|index| {
            let name = self.exports.iter().find(|export| export.1 == ExternalKind::Func && export.2 == index);
            exported(name.map_or_else(|| self.names.get(&index).copied().unwrap_or("?"), |export| export.0))
        }))
    }

    /// New index of an import.
    pub(crate) fn imported(&self, places: &PartIndices, name: &str) -> Result<u32, Error> {
        let place = self.imports.iter().position(|import| import.0 == name);
        let place = place.ok_or_else(|| bug(format!("`{name}` is not imported")))?;
        Ok(places.first_import + place as u32)
    }

    /// New index of an exported function.
    pub(crate) fn function(&self, places: &PartIndices, name: &str) -> Result<u32, Error> {
        Ok(places.function(self.exported_function(name)?, self.import_count()))
    }

    /// New index of the counter.
    pub(crate) fn counter(&self, places: &PartIndices) -> Result<u32, Error> {
        match self.counter {
            Some(_) => Ok(places.first_imported_global),
            None => self.global(places, names::STATE_INSTRUCTIONS),
        }
    }

    /// New index of an exported global.
    pub(crate) fn global(&self, places: &PartIndices, name: &str) -> Result<u32, Error> {
        let export = self.exports.iter().find(|export| export.0 == name && export.1 == ExternalKind::Global);
        let export = export.ok_or_else(|| bug(format!("the recorder has no global `{name}`")))?;
        Ok(places.first_global + export.2)
    }

    /// The start function that replaces the module's own, and calls it.
    pub(crate) fn start(&self, places: &PartIndices) -> Option<u32> {
        let held = places.start.and_then(|_| self.function(places, names::INSIDE_START).ok());
        held.or_else(|| self.function(places, names::START).ok())
    }

    fn exported_function(&self, name: &str) -> Result<u32, Error> {
        let export = self.exports.iter().find(|export| export.0 == name && export.1 == ExternalKind::Func);
        export.map(|export| export.2).ok_or_else(|| bug(format!("the recorder has no `{name}`")))
    }

    /// A template's parameters after the constants: the probe's locals.
    pub(crate) fn template_locals(
        &self,
        places: &PartIndices,
        name: &str,
    ) -> Result<Vec<wasm_encoder::ValType>, Error> {
        let index = self.exported_function(name)?.checked_sub(self.import_count());
        let ty = index.and_then(|index| self.functions.get(index as usize));
        let ty = ty
            .and_then(|&ty| self.types.get(ty as usize))
            .ok_or_else(|| bug("a template has no type".into()))?;
        let mut mover = Mover { places, imports: self.import_count() };
        let locals = ty.params().iter().skip(self.constants as usize);
        locals.map(|&local| mover.val_type(local).map_err(Error::from)).collect()
    }

    /// The template with this name.
    pub(crate) fn template(&self, places: &PartIndices, name: &str) -> Result<Template, Error> {
        let function = self.exported_function(name)?;
        let index = function.checked_sub(self.import_count());
        let body = index.and_then(|index| self.bodies.get(index as usize));
        let body = body.ok_or_else(|| bug(format!("the recorder's `{name}` has no body")))?;
        let hints = self.hints.get(&FuncIndex(function));
        let mut mover = Mover { places, imports: self.import_count() };
        Template::read(
            body,
            self.constants,
            hints.map_or(&[], Vec::as_slice),
            |operator| Ok(mover.instruction(operator)?),
            || bug(format!("the recorder's `{name}` writes to a constant")),
        )
    }

    pub(crate) fn encode_imports(&self, places: &PartIndices, out: &mut Vec<u8>) {
        for &(name, ty) in &self.imports {
            self.module.encode(out);
            name.encode(out);
            EntityType::Function(places.ty(ty)).encode(out);
        }
        if let Some(name) = self.counter {
            self.module.encode(out);
            name.encode(out);
            EntityType::Global(COUNTER).encode(out);
        }
    }

    pub(crate) fn encode_functions(&self, places: &PartIndices, out: &mut Vec<u8>) {
        self.own().iter().for_each(|&ty| places.ty(ty).encode(out));
    }

    /// The memory, which never grows.
    pub(crate) fn encode_memory(&self, places: &PartIndices, out: &mut Vec<u8>) {
        let Some(pages) = self.memory.map(|pages| pages(places.functions)) else { return };
        wasm_encoder::MemoryType {
            minimum: pages.into(),
            maximum: Some(pages.into()),
            memory64: false,
            shared: self.is_shared,
            page_size_log2: None,
        }
        .encode(out);
    }

    pub(crate) fn encode_globals(
        &self,
        places: &PartIndices,
        section: &mut wasm_encoder::GlobalSection,
    ) -> Result<(), Error> {
        let mut mover = Mover { places, imports: self.import_count() };
        for (n, global) in self.globals.iter().enumerate() {
            let ty = mover.global_type(global.ty)?;
            let name =
                self.exports.iter().find(|export| export.1 == ExternalKind::Global && export.2 == n as u32);
            let value = match name.map(|export| export.0) {
                Some(names::STATE_ID_BASE) => ConstExpr::i32_const(places.id_base as i32),
                Some(names::INSIDE_BASE) => ConstExpr::i32_const(places.base as i32),
                Some(names::INSIDE_PAGES) => ConstExpr::i32_const(places.pages as i32),
                Some(names::STATE_SAMPLE) => ConstExpr::i64_const(places.sample as i64),
                Some(names::STATE_FUNCTIONS) => ConstExpr::i32_const(places.functions as i32),
                _ => mover.const_expr(global.init_expr.clone())?,
            };
            section.global(ty, &value);
        }
        if self.counts {
            let zeros = (0..places.functions).map(|_| 0);
            for value in shadow::MARK.into_iter().chain(zeros) {
                section.global(COUNTER, &ConstExpr::i64_const(value as i64));
            }
        }
        Ok(())
    }

    /// Whether the module gets this export.
    pub(crate) fn exports(&self, name: &str) -> bool {
        self.exports.iter().any(|&(own, ..)| is_exported(own) && exported(own) == name)
    }

    /// Exports for the host, under reserved names.
    pub(crate) fn encode_exports(&self, places: &PartIndices, section: &mut wasm_encoder::ExportSection) {
        for &(name, kind, index) in self.exports.iter().filter(|export| is_exported(export.0)) {
            let (kind, index) = match kind {
                ExternalKind::Func => (ExportKind::Func, places.function(index, self.import_count())),
                ExternalKind::Memory => (ExportKind::Memory, places.memory),
                ExternalKind::Global => (ExportKind::Global, places.first_global + index),
                _ => continue,
            };
            section.export(&exported(name), kind, index);
        }
    }

    pub(crate) fn encode_bodies(&self, places: &PartIndices, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut mover = Mover { places, imports: self.import_count() };
        // Functions that call one of the program's, and what follows it.
        let calls = [
            (names::START, places.start, None),
            (names::INSIDE_START, places.start, Some(names::INSIDE_STARTED)),
            (names::INSIDE_COMMAND, places.command, Some(names::INSIDE_COMPLETED)),
        ];
        for (n, body) in self.bodies.iter().enumerate().take(self.own().len()) {
            let mut function = mover.new_function_with_parsed_locals(body)?;
            let mut operators = body.get_operators_reader()?;
            while !operators.is_end_then_eof() {
                function.instruction(&mover.instruction(operators.read()?)?);
            }
            for (name, own, after) in calls {
                let is_it = self.exported_function(name).ok() == Some(n as u32 + self.import_count());
                if let Some(own) = own.filter(|_| is_it) {
                    function.instruction(&Instruction::Call(own));
                    let after = after.map(|after| self.function(places, after)).transpose()?;
                    after.iter().for_each(|&after| {
                        function.instruction(&Instruction::Call(after));
                    });
                }
            }
            function.instruction(&Instruction::End);
            function.encode(out);
        }
        Ok(())
    }
}

/// Templates are not exported.
fn is_exported(name: &str) -> bool {
    let probes = [names::ENTER, names::LEAVE, names::UNWIND, names::LEAF, names::ALLOCATING];
    let more = [names::ALLOCATED, names::GREW, names::CREATED];
    !probes.contains(&name)
        && !more.contains(&name)
        && ![TEMPLATE, names::INSIDE].iter().any(|prefix| name.starts_with(prefix))
}

fn bug(message: String) -> Error {
    ErrorKind::Invalid { message }.into()
}
