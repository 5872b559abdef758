//! The recorder that goes into a module: `recorder.wat` in its inline form, `profile.wat` or `counts.wat`, taken apart.
//!
//! Its functions, globals and memory become the module's last ones. The bodies of its `inline.*` functions are templates:
//! what stands inside every probed function. Their first parameter stands for the function's id (in a recorder of profiles
//! the second for the address of its count, the third for what it returns), the others for locals of the function.

use crate::types::Types;
use crate::{Error, ErrorKind};
use kperf_abi::names::{self, exported};
use kperf_abi::recorder::Form;
use kperf_abi::{FuncId, block, shadow};
use std::collections::HashMap;
use std::convert::Infallible;
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{ConstExpr, Encode, EntityType, ExportKind, Instruction, ValType};
use wasmparser::{ExternalKind, FuncType, FunctionBody, Global, Name, Operator, Parser, Payload, TypeRef};

/// What the names of the templates begin with.
const TEMPLATE: &str = "inline.";

/// The recorder's own module, as far as it is needed.
pub(crate) struct Recorder {
    form: Form,
    types: Vec<FuncType>,
    /// Name and type of each function that it wants from the host.
    imports: Vec<(&'static str, u32)>,
    /// Type of each function of its own.
    functions: Vec<u32>,
    bodies: Vec<FunctionBody<'static>>,
    globals: Vec<Global<'static>>,
    exports: Vec<(&'static str, ExternalKind, u32)>,
    names: HashMap<u32, &'static str>,
}

/// Where the recorder's things are in the rewritten module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Index of each of its types.
    pub(crate) types: Vec<u32>,
    /// Index of its first import among the functions.
    pub(crate) first_import: u32,
    /// Index of its first own function.
    pub(crate) first_function: u32,
    pub(crate) first_global: u32,
    pub(crate) memory: u32,
    /// The first probed function, and how many there are.
    pub(crate) id_base: u32,
    pub(crate) functions: u32,
    /// The module's own start function, if it has one.
    pub(crate) start: Option<u32>,
}

/// How much of what is added. Of exports fewer: not all are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) functions: usize,
    pub(crate) memories: usize,
    pub(crate) globals: usize,
    pub(crate) exports: usize,
}

/// What stands inside functions: bytes, with holes for what differs from function to function.
#[derive(Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    /// How many labels it has.
    pub(crate) labels: u32,
}

/// What fills the holes for one function.
pub(crate) struct Hole {
    pub(crate) id: FuncId,
    /// The address of its count.
    pub(crate) count: Option<u32>,
    /// The local with the token. The others stand behind it.
    pub(crate) locals: u32,
    pub(crate) returned: Option<Returned>,
}

/// A local with a number that the function returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Returned {
    pub(crate) local: u32,
    pub(crate) ty: wasmparser::ValType,
}

enum Piece {
    Code(Vec<u8>),
    Id,
    Count,
    Returned,
    Local(fn(u32) -> Instruction<'static>, u32),
}

/// The templates of all probes.
#[derive(Default)]
pub(crate) struct Templates {
    /// The locals that they need, that with the token first.
    pub(crate) locals: Vec<ValType>,
    /// These are empty of a recorder that only counts: no function has them.
    pub(crate) enter: Template,
    /// For functions that call nothing, where that differs.
    pub(crate) enter_leaf: Option<Template>,
    pub(crate) leave: Template,
    /// For functions that call nothing.
    pub(crate) leave_leaf: Template,
    /// For functions that can't trap either, where that differs: both halves.
    pub(crate) trapless: Option<(Template, Template)>,
    pub(crate) unwind: Template,
    /// For functions that are counted only, where there are such.
    pub(crate) leaf: Option<Template>,
    /// The locals that it needs.
    pub(crate) leaf_locals: Vec<ValType>,
}

impl Recorder {
    /// Reads the module that `kperf-abi` carries. It is a good one, so an error here is a bug.
    pub(crate) fn read(form: Form) -> Result<Recorder, Error> {
        let mut recorder = Recorder {
            form,
            types: Vec::new(),
            imports: Vec::new(),
            functions: Vec::new(),
            bodies: Vec::new(),
            globals: Vec::new(),
            exports: Vec::new(),
            names: HashMap::new(),
        };
        for payload in Parser::new(0).parse_all(form.wasm()) {
            recorder.section(payload?)?;
        }
        Ok(recorder)
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

    /// How many functions it imports.
    pub(crate) fn import_count(&self) -> u32 {
        self.imports.len() as u32
    }

    /// Whether it counts the calls of each function. Then it wants to be called before all else, too.
    pub(crate) fn counts_calls(&self) -> bool {
        self.form.is_profile()
    }

    /// Whether that is all it does.
    pub(crate) fn only_counts(&self) -> bool {
        self.form == Form::Counts
    }

    /// Types of the functions that go into the module. The templates stand behind them; nobody calls those.
    fn own(&self) -> &[u32] {
        let templates = self.exports.iter().filter(|export| export.0.starts_with(TEMPLATE));
        let first = templates.map(|export| export.2.saturating_sub(self.import_count())).min();
        self.functions.get(..first.unwrap_or(0) as usize).unwrap_or_default()
    }

    /// How many functions of its own go into the module.
    pub(crate) fn function_count(&self) -> u32 {
        self.own().len() as u32
    }

    /// What it adds to a module, but for types and imports.
    pub(crate) fn counts(&self) -> Counts {
        let functions = self.own().len();
        Counts { functions, memories: 1, globals: self.globals.len(), exports: self.exports.len() }
    }

    /// Index of each of its types among a module's; the templates' own are not there.
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

    /// What its imports and then its functions are called in the module.
    pub(crate) fn function_names(&self) -> impl Iterator<Item = String> {
        let own = self.import_count()..self.import_count() + self.function_count();
        let imports = self.imports.iter().map(|(name, _)| format!("{}.{name}", names::HOST_MODULE));
        imports.chain(own.map(|index| {
            let name = self.exports.iter().find(|export| export.1 == ExternalKind::Func && export.2 == index);
            exported(name.map_or_else(|| self.names.get(&index).copied().unwrap_or("?"), |export| export.0))
        }))
    }

    /// Index of the function that it exports as `name`, in the rewritten module.
    pub(crate) fn function(&self, places: &Places, name: &str) -> Result<u32, Error> {
        Ok(places.function(self.exported_function(name)?, self.import_count()))
    }

    fn exported_function(&self, name: &str) -> Result<u32, Error> {
        let export = self.exports.iter().find(|export| export.0 == name && export.1 == ExternalKind::Func);
        export.map(|export| export.2).ok_or_else(|| bug(format!("the recorder has no `{name}`")))
    }

    pub(crate) fn templates(&self, places: &Places) -> Result<Templates, Error> {
        let template = |name| self.template(places, name);
        let optional =
            |name| self.exports.iter().any(|export| export.0 == name).then(|| template(name)).transpose();
        if self.only_counts() {
            return Ok(Templates { leaf: Some(template(names::INLINE_LEAF)?), ..Templates::default() });
        }
        Ok(Templates {
            locals: self.template_locals(places)?,
            enter: template(names::INLINE_ENTER)?,
            enter_leaf: optional(names::INLINE_ENTER_LEAF)?,
            leave: template(names::INLINE_LEAVE)?,
            leave_leaf: template(names::INLINE_LEAVE_LEAF)?,
            trapless: optional(names::INLINE_ENTER_TRAPLESS)?.zip(optional(names::INLINE_LEAVE_TRAPLESS)?),
            unwind: template(names::INLINE_UNWIND)?,
            leaf: optional(names::INLINE_LEAF)?,
            leaf_locals: vec![ValType::I32],
        })
    }

    /// What the templates' parameters are behind those that stand for constants.
    fn template_locals(&self, places: &Places) -> Result<Vec<ValType>, Error> {
        let index = self.exported_function(names::INLINE_ENTER)?.checked_sub(self.import_count());
        let ty = index.and_then(|index| self.functions.get(index as usize));
        let ty = ty
            .and_then(|&ty| self.types.get(ty as usize))
            .ok_or_else(|| bug("a template has no type".into()))?;
        let mut mover = Mover { places, imports: self.import_count() };
        let locals = ty.params().iter().skip(self.form.constants() as usize);
        locals.map(|&local| mover.val_type(local).map_err(Error::from)).collect()
    }

    fn template(&self, places: &Places, name: &str) -> Result<Template, Error> {
        let index = self.exported_function(name)?.checked_sub(self.import_count());
        let body = index.and_then(|index| self.bodies.get(index as usize));
        let body = body.ok_or_else(|| bug(format!("the recorder's `{name}` has no body")))?;
        let mut mover = Mover { places, imports: self.import_count() };
        let (mut pieces, mut labels) = (vec![], 0);
        let mut code = Vec::new();
        let constants = self.form.constants();
        let local = |index: u32| {
            let local = index.checked_sub(constants);
            local.ok_or_else(|| bug(format!("the recorder's `{name}` writes to a constant")))
        };
        let mut operators = body.get_operators_reader()?;
        while !operators.is_end_then_eof() {
            let piece = match operators.read()? {
                Operator::LocalGet { local_index: 0 } => Piece::Id,
                Operator::LocalGet { local_index: 1 } if constants > 1 => Piece::Count,
                Operator::LocalGet { local_index: 2 } if constants > 2 => Piece::Returned,
                Operator::LocalGet { local_index } => {
                    Piece::Local(Instruction::LocalGet, local(local_index)?)
                }
                Operator::LocalSet { local_index } => {
                    Piece::Local(Instruction::LocalSet, local(local_index)?)
                }
                Operator::LocalTee { local_index } => {
                    Piece::Local(Instruction::LocalTee, local(local_index)?)
                }
                operator => {
                    labels += u32::from(matches!(operator, Operator::Block { .. } | Operator::If { .. }));
                    mover.instruction(operator)?.encode(&mut code);
                    continue;
                }
            };
            pieces.push(Piece::Code(std::mem::take(&mut code)));
            pieces.push(piece);
        }
        pieces.push(Piece::Code(code));
        Ok(Template { pieces, labels })
    }

    pub(crate) fn encode_imports(&self, places: &Places, out: &mut Vec<u8>) {
        for &(name, ty) in &self.imports {
            names::HOST_MODULE.encode(out);
            name.encode(out);
            EntityType::Function(places.ty(ty)).encode(out);
        }
    }

    pub(crate) fn encode_functions(&self, places: &Places, out: &mut Vec<u8>) {
        self.own().iter().for_each(|&ty| places.ty(ty).encode(out));
    }

    /// The one memory, which never grows.
    pub(crate) fn encode_memory(&self, places: &Places, out: &mut Vec<u8>) {
        let pages =
            if self.form.is_profile() { shadow::pages(places.functions) } else { block::MEMORY_PAGES };
        wasm_encoder::MemoryType {
            minimum: pages.into(),
            maximum: Some(pages.into()),
            memory64: false,
            shared: true,
            page_size_log2: None,
        }
        .encode(out);
    }

    pub(crate) fn encode_globals(
        &self,
        places: &Places,
        section: &mut wasm_encoder::GlobalSection,
    ) -> Result<(), Error> {
        let mut mover = Mover { places, imports: self.import_count() };
        for (n, global) in self.globals.iter().enumerate() {
            let ty = mover.global_type(global.ty)?;
            let name =
                self.exports.iter().find(|export| export.1 == ExternalKind::Global && export.2 == n as u32);
            let value = match name.map(|export| export.0) {
                Some(names::STATE_ID_BASE) => ConstExpr::i32_const(places.id_base as i32),
                Some(names::STATE_FUNCTIONS) => ConstExpr::i32_const(places.functions as i32),
                _ => mover.const_expr(global.init_expr.clone())?,
            };
            section.global(ty, &value);
        }
        Ok(())
    }

    /// Everything that a host may want, under reserved names. The probes themselves are of no use from outside.
    pub(crate) fn encode_exports(&self, places: &Places, section: &mut wasm_encoder::ExportSection) {
        for &(name, kind, index) in &self.exports {
            let probe = [names::ENTER, names::LEAVE, names::UNWIND, names::LEAF].contains(&name);
            let (kind, index) = match kind {
                ExternalKind::Func if probe || name.starts_with(TEMPLATE) => continue,
                ExternalKind::Func => (ExportKind::Func, places.function(index, self.import_count())),
                ExternalKind::Memory => (ExportKind::Memory, places.memory),
                ExternalKind::Global => (ExportKind::Global, places.first_global + index),
                _ => continue,
            };
            section.export(&exported(name), kind, index);
        }
    }

    pub(crate) fn encode_bodies(&self, places: &Places, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut mover = Mover { places, imports: self.import_count() };
        let start = if self.counts_calls() { Some(self.exported_function(names::START)?) } else { None };
        for (n, body) in self.bodies.iter().enumerate().take(self.own().len()) {
            let mut function = mover.new_function_with_parsed_locals(body)?;
            let mut operators = body.get_operators_reader()?;
            while !operators.is_end_then_eof() {
                function.instruction(&mover.instruction(operators.read()?)?);
            }
            if let Some(own) = places.start.filter(|_| start == Some(n as u32 + self.import_count())) {
                function.instruction(&Instruction::Call(own));
            }
            function.instruction(&Instruction::End);
            function.encode(out);
        }
        Ok(())
    }
}

impl Places {
    fn ty(&self, index: u32) -> u32 {
        self.types.get(index as usize).copied().unwrap_or(u32::MAX)
    }

    fn function(&self, index: u32, imports: u32) -> u32 {
        match index.checked_sub(imports) {
            None => self.first_import + index,
            Some(own) => self.first_function + own,
        }
    }
}

impl Template {
    /// Writes it for one function.
    pub(crate) fn write(&self, hole: &Hole, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Code(code) => out.extend_from_slice(code),
                Piece::Id => Instruction::I32Const(hole.id.0 as i32).encode(out),
                Piece::Count => Instruction::I32Const(hole.count.unwrap_or_default() as i32).encode(out),
                Piece::Returned => Returned::encode(hole.returned, out),
                Piece::Local(instruction, n) => instruction(hole.locals + n).encode(out),
            }
        }
    }
}

impl Returned {
    /// Writes an i64: in the upper half some bits that depend on the number, if there is one, and 0 in the lower.
    fn encode(returned: Option<Returned>, out: &mut Vec<u8>) {
        use wasmparser::ValType;
        let Some(Returned { local, ty }) = returned else { return Instruction::I64Const(0).encode(out) };
        Instruction::LocalGet(local).encode(out);
        if ty == ValType::F32 {
            Instruction::I32ReinterpretF32.encode(out);
        }
        match ty {
            ValType::F64 => Instruction::I64ReinterpretF64.encode(out),
            ValType::I64 => {}
            _ => Instruction::I64ExtendI32U.encode(out),
        }
        Instruction::I64Const(32).encode(out);
        Instruction::I64Shl.encode(out);
    }
}

/// Moves the recorder's indices to its places.
struct Mover<'a> {
    places: &'a Places,
    imports: u32,
}

impl Reencode for Mover<'_> {
    type Error = Infallible;

    fn type_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(self.places.ty(index))
    }

    fn function_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(self.places.function(index, self.imports))
    }

    fn global_index(&mut self, index: u32) -> Result<u32, reencode::Error> {
        Ok(self.places.first_global + index)
    }

    fn memory_index(&mut self, _index: u32) -> Result<u32, reencode::Error> {
        Ok(self.places.memory)
    }
}

fn bug(message: String) -> Error {
    ErrorKind::Invalid { message, context: String::new() }.into()
}
