//! A module that counts in the simplest way: one addition in front of each single operator.

use std::convert::Infallible;
use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, ExportKind, ExportSection, Function, GlobalSection, GlobalType, Instruction,
    Module, SectionId, ValType,
};
use wasmparser::{
    ExportSectionReader, FunctionBody, GlobalSectionReader, Operator, Parser, Payload, TypeRef,
};

/// The export that has the count.
pub(crate) const COUNT: &str = "reference.count";

/// The same module, which counts every operator that is executed and isn't structure.
pub(crate) fn count_each(wasm: &[u8]) -> Vec<u8> {
    let mut global = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.unwrap() {
            Payload::ImportSection(imports) => {
                let imports = imports.into_imports().map(|import| import.unwrap().ty);
                global += imports.filter(|ty| matches!(ty, TypeRef::Global(_))).count() as u32;
            }
            Payload::GlobalSection(globals) => global += globals.count(),
            _ => {}
        }
    }
    let mut module = Module::new();
    let mut counter = Counter { global, has_global: false, has_export: false };
    counter.parse_core_module(&mut module, Parser::new(0), wasm).unwrap();
    module.finish()
}

struct Counter {
    global: u32,
    has_global: bool,
    has_export: bool,
}

impl Counter {
    fn add_global(&mut self, globals: &mut GlobalSection) {
        let ty = GlobalType { val_type: ValType::I64, mutable: true, shared: false };
        globals.global(ty, &ConstExpr::i64_const(0));
        self.has_global = true;
    }

    fn add_export(&mut self, exports: &mut ExportSection) {
        exports.export(COUNT, ExportKind::Global, self.global);
        self.has_export = true;
    }
}

impl Reencode for Counter {
    type Error = Infallible;

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: GlobalSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        utils::parse_global_section(self, globals, section)?;
        self.add_global(globals);
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: ExportSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        utils::parse_export_section(self, exports, section)?;
        self.add_export(exports);
        Ok(())
    }

    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _after: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Result<(), reencode::Error> {
        let is_behind = |id: SectionId| {
            before.is_none_or(|before| match before {
                SectionId::Tag | SectionId::Custom => false,
                before => before as u8 > id as u8,
            })
        };
        if !self.has_global && is_behind(SectionId::Global) {
            let mut globals = GlobalSection::new();
            self.add_global(&mut globals);
            module.section(&globals);
        }
        if !self.has_export && is_behind(SectionId::Export) {
            let mut exports = ExportSection::new();
            self.add_export(&mut exports);
            module.section(&exports);
        }
        Ok(())
    }

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: FunctionBody<'_>,
    ) -> Result<(), reencode::Error> {
        let mut function: Function = self.new_function_with_parsed_locals(&body)?;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            if counts(&operator) {
                function.instruction(&Instruction::GlobalGet(self.global));
                function.instruction(&Instruction::I64Const(1));
                function.instruction(&Instruction::I64Add);
                function.instruction(&Instruction::GlobalSet(self.global));
            }
            function.instruction(&self.instruction(operator)?);
        }
        code.function(&function);
        Ok(())
    }
}

fn counts(operator: &Operator<'_>) -> bool {
    use Operator::*;
    !matches!(
        operator,
        Nop | Drop
            | Block { .. }
            | Loop { .. }
            | TryTable { .. }
            | Try { .. }
            | Unreachable
            | Return
            | Else
            | End
            | Catch { .. }
            | CatchAll
            | Delegate { .. }
    )
}
