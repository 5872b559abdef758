//! Parses the sections of a module into [`ModuleInfo`]. Bodies are located, not read.

use crate::error::{Error, ErrorKind};
use crate::module::info::{BodyPlace, ImportedFunc, ModuleInfo, Section, TypeInfo};
use crate::module::named_types::{by_ref, by_sub_type, by_val};
use kperf_abi::names;
use wasmparser::{
    CompositeInnerType, ElementItems, ExternalKind, Parser, Payload, RefType, StorageType, TypeRef, ValType,
};

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
                for memory in memories {
                    self.add_memory(memory?);
                }
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
                let offset = globals.range().start;
                for global in globals {
                    let global = global?;
                    self.check_type(by_val(global.ty.content_type), offset)?;
                    self.add_global(global.ty);
                    self.note_references(&global.init_expr)?;
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
                // Each body takes at least two bytes, whatever the count says.
                self.bodies.reserve_exact(count.min(size / 2) as usize);
                Ok(())
            }
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                let place = u32::try_from(range.start).ok().zip(u32::try_from(range.end).ok());
                let (start, end) = place.ok_or_else(|| {
                    Error::malformed(range.start, "a function body after the first 4 GiB of the module")
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
        let mut fields = Vec::new();
        for group in types {
            let group = group?;
            let alone = !group.is_explicit_rec_group() || group.types().len() == 1;
            for ty in group.into_types() {
                greatest = greatest.max(by_sub_type(&ty));
                let plain = alone && ty.is_final && ty.supertype_idxs.is_empty() && !ty.composite_type.shared;
                let shared = ty.composite_type.shared;
                let is_continuation = matches!(ty.composite_type.inner, CompositeInnerType::Cont(_));
                let object_size = object_size(&ty.composite_type.inner);
                let signature = match ty.composite_type.inner {
                    CompositeInnerType::Func(func) => Some(func),
                    CompositeInnerType::Array(array) => {
                        fields.extend(reference_in(array.0.element_type));
                        None
                    }
                    CompositeInnerType::Struct(ty) => {
                        fields.extend(ty.fields.iter().filter_map(|field| reference_in(field.element_type)));
                        None
                    }
                    CompositeInnerType::Cont(_) => None,
                };
                self.types.push(TypeInfo { signature, plain, shared, is_continuation, object_size });
            }
        }
        self.objects_hold_functions = fields.into_iter().any(|field| self.is_function(field));
        self.check_type(greatest, offset)
    }

    fn imports(&mut self, imports: wasmparser::ImportSectionReader<'a>) -> Result<(), Error> {
        let offset = imports.range().start;
        for import in imports.into_imports() {
            let import = import?;
            self.imports += 1;
            if [names::MODULE, names::HOST_MODULE].contains(&import.module) {
                self.imports_like_ours.push((import.module, import.name));
            }
            let named = match import.ty {
                TypeRef::Func(index) | TypeRef::FuncExact(index) => Some(index),
                TypeRef::Table(table) => by_ref(table.element_type),
                TypeRef::Global(global) => by_val(global.content_type),
                TypeRef::Tag(tag) => Some(tag.func_type_idx),
                TypeRef::Memory(_) => None,
            };
            self.check_type(named, offset)?;
            self.note_import(&import.ty);
            match import.ty {
                TypeRef::Func(type_index) | TypeRef::FuncExact(type_index) => {
                    self.imported_funcs.push(ImportedFunc {
                        module: import.module,
                        name: import.name,
                        type_index,
                    });
                }
                TypeRef::Table(table) => self.add_table(table),
                TypeRef::Global(global) => {
                    self.imported_globals += 1;
                    self.add_global(global);
                }
                TypeRef::Tag(tag) => self.tags.push(tag.func_type_idx),
                TypeRef::Memory(memory) => {
                    self.is_first_memory_linked |= self.memories == 0;
                    self.add_memory(memory);
                }
            }
        }
        Ok(())
    }

    fn tables(&mut self, tables: wasmparser::TableSectionReader<'a>) -> Result<(), Error> {
        let offset = tables.range().start;
        for table in tables {
            let table = table?;
            self.check_type(by_ref(table.ty.element_type), offset)?;
            if let wasmparser::TableInit::Expr(init) = table.init {
                self.note_references(&init)?;
            }
            self.add_table(table.ty);
        }
        Ok(())
    }

    fn exports(&mut self, exports: wasmparser::ExportSectionReader<'a>) -> Result<(), Error> {
        self.exports += exports.count() as usize;
        for export in exports {
            let export = export?;
            if export.name.starts_with(names::EXPORT_PREFIX) {
                self.exports_like_ours.push(export.name);
            }
            match export.kind {
                ExternalKind::Func | ExternalKind::FuncExact => {
                    self.exported_funcs.entry(export.index).or_insert(export.name);
                    self.note_exported_function(export.index);
                }
                ExternalKind::Table => self.note_exported_table(export.index),
                ExternalKind::Global => self.note_exported_global(export.index),
                ExternalKind::Tag => {
                    if let Some(&type_index) = self.tags.get(export.index as usize) {
                        self.note_tag(type_index);
                    }
                }
                ExternalKind::Memory => self.is_first_memory_linked |= export.index == 0,
            }
        }
        Ok(())
    }

    fn elements(&mut self, elements: wasmparser::ElementSectionReader<'a>) -> Result<(), Error> {
        for element in elements {
            let element = element?;
            match element.items {
                ElementItems::Functions(functions) => {
                    for function in functions {
                        self.note_reference(function?);
                    }
                }
                ElementItems::Expressions(ty, expressions) => {
                    self.check_type(by_ref(ty), element.range.start)?;
                    for expression in expressions {
                        self.note_references(&expression?)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add_memory(&mut self, ty: wasmparser::MemoryType) {
        if ty.memory64 {
            self.wide_memories.insert(self.memories);
        }
        self.memory_types.push(ty);
        self.memories += 1;
    }

    fn add_table(&mut self, ty: wasmparser::TableType) {
        if ty.table64 {
            self.wide_tables.insert(self.tables.len() as u32);
        }
        self.tables.push(self.carried(ValType::Ref(ty.element_type)));
    }

    fn add_global(&mut self, ty: wasmparser::GlobalType) {
        let carried = self.carried(ty.content_type);
        if !carried.is_empty() {
            self.carrying_globals.insert(self.globals, (carried, ty.mutable));
        }
        self.globals += 1;
    }
}

/// The reference type of a field, if it is a reference.
fn reference_in(field: StorageType) -> Option<RefType> {
    match field {
        StorageType::Val(ValType::Ref(reference)) => Some(reference),
        _ => None,
    }
}

/// Capacity for the items of a section. Each takes at least a byte, whatever the count says.
fn room<T>(section: &wasmparser::SectionLimited<'_, T>) -> usize {
    section.range().end.saturating_sub(section.range().start).min(section.count().into()) as usize
}

/// Bytes of a struct's fields, or of an element of an array; `None` for other types. References count as four bytes,
/// as in most engines.
fn object_size(ty: &CompositeInnerType) -> Option<u64> {
    let size = |ty: &StorageType| match ty {
        StorageType::I8 => 1,
        StorageType::I16 => 2,
        StorageType::Val(ValType::I64 | ValType::F64) => 8,
        StorageType::Val(ValType::V128) => 16,
        StorageType::Val(ValType::I32 | ValType::F32 | ValType::Ref(_)) => 4,
    };
    match ty {
        CompositeInnerType::Struct(fields) => {
            Some(fields.fields.iter().map(|field| size(&field.element_type)).sum())
        }
        CompositeInnerType::Array(array) => Some(size(&array.0.element_type)),
        _ => None,
    }
}
