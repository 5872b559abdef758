//! Bytes to [`ModuleInfo`]: what the later passes need to know of a module, section by section. Bodies are only found,
//! not read.

use crate::named_types::{by_ref, by_sub_type, by_val};
use crate::{Error, ErrorKind};
use kperf_abi::{FuncIndex, names};
use std::collections::HashMap;
use std::ops::Range;
use wasmparser::{
    BinaryReader, BlockType, CompositeInnerType, ElementItems, ElementKind, ExternalKind, FuncType,
    FunctionBody, Operator, Parser, Payload, TypeRef, ValType,
};

/// A section as it stands in the input: its id and where its content lies.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) id: u8,
    pub(crate) content: Range<usize>,
    /// Of a custom section: its name.
    pub(crate) custom_name: Option<String>,
}

/// One type of the type section.
#[derive(Debug)]
pub(crate) struct TypeInfo {
    /// `None` for what is no function type.
    pub(crate) signature: Option<FuncType>,
    /// Whether it is a plain type: alone in its group, final, without supertypes, not shared.
    pub(crate) plain: bool,
    /// Whether only what is shared between threads may be named in such a function.
    pub(crate) shared: bool,
}

/// An imported function.
#[derive(Debug)]
pub(crate) struct ImportedFunc<'a> {
    pub(crate) module: &'a str,
    pub(crate) name: &'a str,
    pub(crate) type_index: u32,
}

/// A table, as far as it matters who can put functions into it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableInfo {
    /// Imported or exported: the host may put anything into it.
    pub(crate) open_to_host: bool,
    /// A segment or initialiser puts an imported function into it.
    pub(crate) holds_import: bool,
}

/// Where a body lies in the module: no more than that is kept of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyPlace {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Which ways there are for a reference to a host function to get into the module's values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostRefs {
    /// A passive or declarative segment, a global or an export names an imported function.
    pub(crate) import_is_referenced: bool,
    /// A function reference comes in as a parameter, a result, or in a global.
    pub(crate) passed_in: bool,
}

/// The two ways to catch an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proposal {
    /// `try` with `catch` and `catch_all`.
    LegacyExceptions,
    /// `try_table`.
    ExceptionReferences,
}

/// What the later passes need to know of a module. Index spaces are in order: imports first.
#[derive(Debug, Default)]
pub(crate) struct ModuleInfo<'a> {
    pub(crate) wasm: &'a [u8],
    pub(crate) sections: Vec<Section>,
    pub(crate) types: Vec<TypeInfo>,
    /// How many imports of all kinds there are.
    pub(crate) imports: usize,
    pub(crate) imported_funcs: Vec<ImportedFunc<'a>>,
    /// Type index of each defined function.
    pub(crate) defined_types: Vec<u32>,
    pub(crate) bodies: Vec<BodyPlace>,
    pub(crate) tables: Vec<TableInfo>,
    /// How many memories there are.
    pub(crate) memories: u32,
    /// How many globals there are.
    pub(crate) globals: u32,
    /// Type index of each tag.
    pub(crate) tags: Vec<u32>,
    /// How many exports there are.
    pub(crate) exports: usize,
    /// The function that runs when the module is instantiated.
    pub(crate) start: Option<u32>,
    /// First export name of each exported function.
    pub(crate) exported_funcs: HashMap<u32, &'a str>,
    pub(crate) host_refs: HostRefs,
}

impl<'a> ModuleInfo<'a> {
    /// Reads the sections of a core module.
    pub(crate) fn parse(wasm: &'a [u8]) -> Result<ModuleInfo<'a>, Error> {
        let mut info = ModuleInfo { wasm, ..ModuleInfo::default() };
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            if let Some((id, range)) = payload.as_section() {
                let custom_name = match &payload {
                    Payload::CustomSection(section) => Some(section.name().to_owned()),
                    _ => None,
                };
                let content = range.start as usize..range.end as usize;
                info.sections.push(Section { id, content, custom_name });
            }
            info.section(payload)?;
        }
        if info.bodies.len() != info.defined_types.len() {
            let message = format!(
                "{} functions are declared, {} have a body",
                info.defined_types.len(),
                info.bodies.len()
            );
            return Err(Error::malformed(wasm.len() as u64, message));
        }
        Ok(info)
    }

    fn section(&mut self, payload: Payload<'a>) -> Result<(), Error> {
        match payload {
            Payload::Version { encoding: wasmparser::Encoding::Component, .. } => {
                Err(ErrorKind::NotAModule.into())
            }
            Payload::TypeSection(types) => self.types(types),
            Payload::ImportSection(imports) => self.imports(imports),
            Payload::FunctionSection(functions) => {
                let offset = functions.range().start;
                self.defined_types.reserve_exact(room(&functions));
                for type_index in functions {
                    self.defined_types.push(type_index?);
                }
                self.check_type(self.defined_types.iter().max().copied(), offset)
            }
            Payload::TableSection(tables) => self.tables(tables),
            Payload::MemorySection(memories) => {
                self.memories += memories.count();
                Ok(())
            }
            Payload::TagSection(tags) => {
                let offset = tags.range().start;
                for tag in tags {
                    self.tags.push(tag?.func_type_idx);
                }
                self.check_type(self.tags.iter().max().copied(), offset)
            }
            Payload::GlobalSection(globals) => {
                self.globals += globals.count();
                let offset = globals.range().start;
                for global in globals {
                    let global = global?;
                    self.check_type(by_val(global.ty.content_type), offset)?;
                    self.host_refs.import_is_referenced |= self.names_import(&global.init_expr)?;
                }
                Ok(())
            }
            Payload::ExportSection(exports) => self.exports(exports),
            Payload::StartSection { func, .. } => {
                self.start = Some(func);
                Ok(())
            }
            Payload::ElementSection(elements) => self.elements(elements),
            Payload::CodeSectionStart { count, size, .. } => {
                // Each takes two bytes at least, whatever the count says.
                self.bodies.reserve_exact(count.min(size / 2) as usize);
                Ok(())
            }
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                let place = u32::try_from(range.start).ok().zip(u32::try_from(range.end).ok());
                let (start, end) = place.ok_or_else(|| {
                    Error::malformed(range.start, "a function body behind the first 4 GiB of the module")
                })?;
                self.bodies.push(BodyPlace { start, end });
                Ok(())
            }
            Payload::CustomSection(section) if section.name() == names::SYMBOLS_SECTION => {
                Err(ErrorKind::AlreadyProbed.into())
            }
            Payload::UnknownSection { id, range, .. } => Err(ErrorKind::Unsupported {
                what: format!("a section of the unknown kind {id}"),
                offset: range.start,
            }
            .into()),
            _ => Ok(()),
        }
    }

    fn types(&mut self, types: wasmparser::TypeSectionReader<'a>) -> Result<(), Error> {
        let offset = types.range().start;
        self.types.reserve_exact(room(&types));
        let mut greatest = None;
        for group in types {
            let group = group?;
            let alone = !group.is_explicit_rec_group() || group.types().len() == 1;
            for ty in group.into_types() {
                greatest = greatest.max(by_sub_type(&ty));
                let plain = alone && ty.is_final && ty.supertype_idxs.is_empty() && !ty.composite_type.shared;
                let shared = ty.composite_type.shared;
                let signature = match ty.composite_type.inner {
                    CompositeInnerType::Func(func) => Some(func),
                    _ => None,
                };
                self.types.push(TypeInfo { signature, plain, shared });
            }
        }
        self.check_type(greatest, offset)
    }

    fn imports(&mut self, imports: wasmparser::ImportSectionReader<'a>) -> Result<(), Error> {
        let offset = imports.range().start;
        for import in imports.into_imports() {
            let import = import?;
            self.imports += 1;
            if [names::MODULE, names::HOST_MODULE].contains(&import.module) {
                let name = format!("{}.{}", import.module, import.name);
                return Err(match crate::probed(self.wasm) {
                    Ok(Some(_)) => ErrorKind::AlreadyProbed.into(),
                    _ => ErrorKind::ReservedName { name }.into(),
                });
            }
            let named = match import.ty {
                TypeRef::Func(index) | TypeRef::FuncExact(index) => Some(index),
                TypeRef::Table(table) => by_ref(table.element_type),
                TypeRef::Global(global) => by_val(global.content_type),
                TypeRef::Tag(tag) => Some(tag.func_type_idx),
                TypeRef::Memory(_) => None,
            };
            self.check_type(named, offset)?;
            match import.ty {
                TypeRef::Func(type_index) | TypeRef::FuncExact(type_index) => {
                    self.host_refs.passed_in |= self
                        .signature(type_index)
                        .is_some_and(|s| s.results().iter().any(|&ty| self.is_func_ref(ty)));
                    self.imported_funcs.push(ImportedFunc {
                        module: import.module,
                        name: import.name,
                        type_index,
                    });
                }
                TypeRef::Table(_) => self.tables.push(TableInfo { open_to_host: true, holds_import: false }),
                TypeRef::Global(global) => {
                    self.globals += 1;
                    self.host_refs.passed_in |= self.is_func_ref(global.content_type);
                }
                TypeRef::Tag(tag) => {
                    self.host_refs.passed_in |= self
                        .signature(tag.func_type_idx)
                        .is_some_and(|s| s.params().iter().any(|&ty| self.is_func_ref(ty)));
                    self.tags.push(tag.func_type_idx);
                }
                TypeRef::Memory(_) => self.memories += 1,
            }
        }
        Ok(())
    }

    fn tables(&mut self, tables: wasmparser::TableSectionReader<'a>) -> Result<(), Error> {
        let offset = tables.range().start;
        for table in tables {
            let table = table?;
            self.check_type(by_ref(table.ty.element_type), offset)?;
            let holds_import = match table.init {
                wasmparser::TableInit::Expr(init) => self.names_import(&init)?,
                wasmparser::TableInit::RefNull => false,
            };
            self.tables.push(TableInfo { open_to_host: false, holds_import });
        }
        Ok(())
    }

    fn exports(&mut self, exports: wasmparser::ExportSectionReader<'a>) -> Result<(), Error> {
        self.exports += exports.count() as usize;
        for export in exports {
            let export = export?;
            if export.name.starts_with(names::EXPORT_PREFIX) {
                return Err(ErrorKind::ReservedName { name: export.name.to_owned() }.into());
            }
            match export.kind {
                ExternalKind::Func | ExternalKind::FuncExact => {
                    self.exported_funcs.entry(export.index).or_insert(export.name);
                    self.host_refs.import_is_referenced |=
                        (export.index as usize) < self.imported_funcs.len();
                    let takes_func_ref = self
                        .func_type(FuncIndex(export.index))
                        .is_some_and(|signature| signature.params().iter().any(|&ty| self.is_func_ref(ty)));
                    self.host_refs.passed_in |= takes_func_ref;
                }
                ExternalKind::Table => {
                    if let Some(table) = self.tables.get_mut(export.index as usize) {
                        table.open_to_host = true;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn elements(&mut self, elements: wasmparser::ElementSectionReader<'a>) -> Result<(), Error> {
        for element in elements {
            let element = element?;
            let mut holds_import = false;
            match element.items {
                ElementItems::Functions(functions) => {
                    for function in functions {
                        holds_import |= (function? as usize) < self.imported_funcs.len();
                    }
                }
                ElementItems::Expressions(ty, expressions) => {
                    self.check_type(by_ref(ty), element.range.start)?;
                    for expression in expressions {
                        holds_import |= self.names_import(&expression?)?;
                    }
                }
            }
            match element.kind {
                ElementKind::Active { table_index, .. } => {
                    if let Some(table) = self.tables.get_mut(table_index.unwrap_or(0) as usize) {
                        table.holds_import |= holds_import;
                    }
                }
                ElementKind::Passive | ElementKind::Declared => {
                    self.host_refs.import_is_referenced |= holds_import
                }
            }
        }
        Ok(())
    }

    /// Whether a constant expression may evaluate to an imported function.
    fn names_import(&self, init: &wasmparser::ConstExpr<'a>) -> Result<bool, Error> {
        let mut named = false;
        for operator in init.get_operators_reader().into_iter_with_offsets() {
            let (operator, offset) = operator?;
            self.check_types_of(&operator, offset)?;
            if let Operator::RefFunc { function_index } = operator {
                named |= (function_index as usize) < self.imported_funcs.len();
            }
        }
        Ok(named)
    }

    /// Whether values of this type may be functions.
    fn is_func_ref(&self, ty: ValType) -> bool {
        let ValType::Ref(reference) = ty else { return false };
        match reference.heap_type() {
            wasmparser::HeapType::Abstract { ty, .. } => ty == wasmparser::AbstractHeapType::Func,
            wasmparser::HeapType::Concrete(index) | wasmparser::HeapType::Exact(index) => {
                index.as_module_index().and_then(|index| self.signature(index)).is_some()
            }
        }
    }

    /// What a block takes from the stack, as far as its type is there.
    pub(crate) fn block_params(&self, ty: BlockType) -> &[ValType] {
        match ty {
            BlockType::FuncType(index) => self.signature(index).map_or(&[], FuncType::params),
            BlockType::Empty | BlockType::Type(_) => &[],
        }
    }

    /// How many values a block leaves on the stack.
    pub(crate) fn block_results(&self, ty: BlockType) -> usize {
        match ty {
            BlockType::FuncType(index) => {
                self.signature(index).map_or(0, |signature| signature.results().len())
            }
            BlockType::Empty => 0,
            BlockType::Type(_) => 1,
        }
    }

    /// The function type with this index.
    pub(crate) fn signature(&self, type_index: u32) -> Option<&FuncType> {
        self.types.get(type_index as usize)?.signature.as_ref()
    }

    /// The type of a function.
    pub(crate) fn func_type(&self, index: FuncIndex) -> Option<&FuncType> {
        self.signature(self.type_index(index)?)
    }

    /// Whether a function is shared between threads.
    pub(crate) fn is_shared(&self, index: FuncIndex) -> bool {
        let ty = self.type_index(index).and_then(|index| self.types.get(index as usize));
        ty.is_some_and(|ty| ty.shared)
    }

    fn type_index(&self, index: FuncIndex) -> Option<u32> {
        let at = index.0 as usize;
        match self.imported_funcs.get(at) {
            Some(import) => Some(import.type_index),
            None => self.defined_types.get(at - self.imported_funcs.len()).copied(),
        }
    }

    /// How the module catches exceptions, by the first place that does. Only looked for where there are tags.
    pub(crate) fn first_catch(&self) -> Result<Option<Proposal>, Error> {
        if self.tags.is_empty() {
            return Ok(None);
        }
        for &place in &self.bodies {
            for operator in self.body(place).get_operators_reader()? {
                match operator? {
                    Operator::Try { .. } => return Ok(Some(Proposal::LegacyExceptions)),
                    Operator::TryTable { .. } => return Ok(Some(Proposal::ExceptionReferences)),
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    /// A body of the module.
    pub(crate) fn body(&self, place: BodyPlace) -> FunctionBody<'a> {
        let bytes = self.wasm.get(place.start as usize..place.end as usize).unwrap_or_default();
        FunctionBody::new(BinaryReader::new(bytes, place.start.into()))
    }

    /// Index of the n-th defined function.
    pub(crate) fn defined(&self, n: usize) -> FuncIndex {
        FuncIndex((self.imported_funcs.len() + n) as u32)
    }

    /// The content of the custom section with this name, if there is one.
    pub(crate) fn custom_section(&self, name: &str) -> Option<(&'a [u8], usize)> {
        let section = self.sections.iter().find(|section| section.custom_name.as_deref() == Some(name))?;
        // The content begins with the name: its length, then its bytes. Both were read before.
        let content = &self.wasm[section.content.clone()];
        let reader =
            wasmparser::CustomSectionReader::new(BinaryReader::new(content, section.content.start as u64))
                .ok()?;
        Some((reader.data(), reader.data_offset() as usize))
    }
}

/// For how many items of a section room is made. Each takes a byte at least, whatever the count says.
fn room<T>(section: &wasmparser::SectionLimited<'_, T>) -> usize {
    section.range().end.saturating_sub(section.range().start).min(section.count().into()) as usize
}
