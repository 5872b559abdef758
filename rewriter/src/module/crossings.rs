//! Notes how functions may cross a module's boundary, from its imports, exports and segments.

use crate::error::Error;
use crate::module::boundary::Carried;
use crate::module::info::ModuleInfo;
use crate::module::operators;
use kperf_abi::FuncIndex;
use wasmparser::{AbstractHeapType, ConstExpr, FuncType, HeapType, RefType, TypeRef, ValType};

impl ModuleInfo<'_> {
    /// Notes an import.
    pub(crate) fn note_import(&mut self, ty: &TypeRef) {
        match ty {
            TypeRef::Func(type_index) | TypeRef::FuncExact(type_index) => {
                let (params, results) = self.carried_by(self.signature(*type_index));
                self.boundary.goes_out(params);
                self.boundary.comes_in(results);
            }
            TypeRef::Table(table) => self.note_both(self.carried(ValType::Ref(table.element_type))),
            TypeRef::Global(global) => {
                let carried = self.carried(global.content_type);
                self.boundary.comes_in(carried);
                if global.mutable {
                    self.boundary.goes_out(carried);
                }
            }
            TypeRef::Tag(tag) => self.note_tag(tag.func_type_idx),
            TypeRef::Memory(_) => {}
        }
    }

    /// Notes an exported function.
    pub(crate) fn note_exported_function(&mut self, index: u32) {
        let (params, results) = self.carried_by(self.func_type(FuncIndex(index)));
        self.boundary.comes_in(params);
        self.boundary.goes_out(results);
    }

    /// Notes an exported table.
    pub(crate) fn note_exported_table(&mut self, index: u32) {
        if let Some(&carried) = self.tables.get(index as usize) {
            self.note_both(carried);
        }
    }

    /// Notes an exported global.
    pub(crate) fn note_exported_global(&mut self, index: u32) {
        if let Some(&(carried, mutable)) = self.carrying_globals.get(&index) {
            self.boundary.goes_out(carried);
            if mutable {
                self.boundary.comes_in(carried);
            }
        }
    }

    /// Notes an imported or exported tag. Exceptions cross in both directions, and so do the values with which a
    /// stack is suspended and resumed.
    pub(crate) fn note_tag(&mut self, type_index: u32) {
        let (params, results) = self.carried_by(self.signature(type_index));
        self.note_both(params);
        self.note_both(results);
    }

    /// Notes a function that a segment, or the initial value of a table or global, refers to.
    pub(crate) fn note_reference(&mut self, index: u32) {
        if !self.is_there(index) {
            return;
        }
        if self.referenced.insert(index) && (index as usize) >= self.imported_funcs.len() {
            let (params, results) = self.carried_by(self.func_type(FuncIndex(index)));
            self.boundary.references_take |= params.functions | params.objects | results.objects;
        }
    }

    /// Notes the functions that a constant expression names.
    pub(crate) fn note_references(&mut self, init: &ConstExpr<'_>) -> Result<(), Error> {
        for operator in init.get_operators_reader().into_iter_with_offsets() {
            let (operator, offset) = operator?;
            self.check_types_of(&operator, offset)?;
            if let Some(function) = operators::function(&operator) {
                self.note_reference(function);
            }
        }
        Ok(())
    }

    /// What values of a type may carry.
    pub(crate) fn carried(&self, ty: ValType) -> Carried {
        let ValType::Ref(reference) = ty else { return Carried::default() };
        let functions = self.is_function(reference);
        let objects = self.objects_hold_functions && !functions && is_object(reference);
        Carried { functions, objects }
    }

    fn carried_by(&self, signature: Option<&FuncType>) -> (Carried, Carried) {
        let all = |types: &[ValType]| {
            types.iter().fold(Carried::default(), |sum, &ty| {
                let Carried { functions, objects } = self.carried(ty);
                Carried { functions: sum.functions | functions, objects: sum.objects | objects }
            })
        };
        signature.map_or_else(Default::default, |ty| (all(ty.params()), all(ty.results())))
    }

    fn note_both(&mut self, carried: Carried) {
        self.boundary.comes_in(carried);
        self.boundary.goes_out(carried);
    }
}

/// Whether references of this type may be structs or arrays, even when the host wraps them.
fn is_object(reference: RefType) -> bool {
    use AbstractHeapType::{Any, Array, Eq, Extern, Struct};
    match reference.heap_type() {
        HeapType::Abstract { ty, .. } => matches!(ty, Any | Array | Eq | Extern | Struct),
        HeapType::Concrete(_) | HeapType::Exact(_) => true,
    }
}
