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

/// The same module, which counts every operator that is executed and isn't structure, and an eighth of what is copied or filled.
pub(crate) fn count_each(wasm: &[u8]) -> Vec<u8> {
    let (mut global, mut wide) = (0, Wide::default());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.unwrap() {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    match import.unwrap().ty {
                        TypeRef::Global(_) => global += 1,
                        TypeRef::Memory(ty) => wide.memories.push(ty.memory64),
                        TypeRef::Table(ty) => wide.tables.push(ty.table64),
                        _ => {}
                    }
                }
            }
            Payload::GlobalSection(globals) => global += globals.count(),
            Payload::MemorySection(memories) => {
                wide.memories.extend(memories.into_iter().map(|ty| ty.unwrap().memory64));
            }
            Payload::TableSection(tables) => {
                wide.tables.extend(tables.into_iter().map(|table| table.unwrap().ty.table64));
            }
            _ => {}
        }
    }
    let mut module = Module::new();
    let mut counter = Counter { global, wide, has_global: false, has_export: false };
    counter.parse_core_module(&mut module, Parser::new(0), wasm).unwrap();
    module.finish()
}

/// Which memories and tables have addresses of 64 bits.
#[derive(Default)]
struct Wide {
    memories: Vec<bool>,
    tables: Vec<bool>,
}

struct Counter {
    /// The count. The two globals after it keep the length of what copies or fills: an i32, and an i64.
    global: u32,
    wide: Wide,
    has_global: bool,
    has_export: bool,
}

impl Counter {
    fn add_global(&mut self, globals: &mut GlobalSection) {
        let ty = |val_type| GlobalType { val_type, mutable: true, shared: false };
        globals.global(ty(ValType::I64), &ConstExpr::i64_const(0));
        globals.global(ty(ValType::I32), &ConstExpr::i32_const(0));
        globals.global(ty(ValType::I64), &ConstExpr::i64_const(0));
        self.has_global = true;
    }

    fn add_export(&mut self, exports: &mut ExportSection) {
        exports.export(COUNT, ExportKind::Global, self.global);
        self.has_export = true;
    }
}

impl Counter {
    /// Adds a number to the count.
    fn add(&self, function: &mut Function, number: &[Instruction<'_>]) {
        function.instruction(&Instruction::GlobalGet(self.global));
        for instruction in number {
            function.instruction(instruction);
        }
        function.instruction(&Instruction::I64Add);
        function.instruction(&Instruction::GlobalSet(self.global));
    }
}

impl Wide {
    /// If an operator copies or fills: whether its length, the last operand, is an i64.
    fn length_of(&self, operator: &Operator<'_>) -> Option<bool> {
        use Operator::*;
        let (memory, table) =
            (|index: u32| self.memories[index as usize], |index: u32| self.tables[index as usize]);
        match *operator {
            MemoryCopy { dst_mem, src_mem } => Some(memory(dst_mem) && memory(src_mem)),
            MemoryFill { mem } => Some(memory(mem)),
            TableCopy { dst_table, src_table } => Some(table(dst_table) && table(src_table)),
            TableFill { table: index } => Some(table(index)),
            MemoryInit { .. } | TableInit { .. } | ArrayCopy { .. } | ArrayFill { .. } => Some(false),
            ArrayNew { .. } | ArrayNewDefault { .. } | ArrayNewData { .. } | ArrayNewElem { .. } => {
                Some(false)
            }
            ArrayInitData { .. } | ArrayInitElem { .. } => Some(false),
            _ => None,
        }
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
                self.add(&mut function, &[Instruction::I64Const(1)]);
            }
            let length = self.wide.length_of(&operator).map(|is_wide| self.global + 1 + u32::from(is_wide));
            if let Some(length) = length {
                function.instruction(&Instruction::GlobalSet(length));
                function.instruction(&Instruction::GlobalGet(length));
            }
            function.instruction(&self.instruction(operator)?);
            if let Some(length) = length {
                let extend = (length == self.global + 1).then_some(Instruction::I64ExtendI32U);
                let length = [Instruction::GlobalGet(length)].into_iter().chain(extend);
                let eighth = length.chain([Instruction::I64Const(8), Instruction::I64DivU]);
                self.add(&mut function, &eighth.collect::<Vec<_>>());
            }
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
