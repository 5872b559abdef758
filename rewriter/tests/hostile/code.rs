//! Modules with much code.

use wasm_encoder::{
    BlockType, BranchHint, BranchHints, Catch, CodeSection, EntityType, Function, FunctionSection,
    ImportSection, Instruction, Module, Section, TagKind, TagSection, TagType, TypeSection, ValType,
};

/// A module of functions without params and results.
pub(crate) fn module(functions: impl IntoIterator<Item = Function>) -> Module {
    typed([], [], functions)
}

fn typed(
    params: impl IntoIterator<Item = ValType, IntoIter: ExactSizeIterator>,
    results: impl IntoIterator<Item = ValType, IntoIter: ExactSizeIterator>,
    functions: impl IntoIterator<Item = Function>,
) -> Module {
    let mut types = TypeSection::new();
    types.ty().function(params, results);
    // What blocks with a parameter, tags and imports have.
    types.ty().function([ValType::I32], []);
    types.ty().function([], []);
    let mut imports = ImportSection::new();
    imports.import("host", "f", EntityType::Function(2));
    let mut tags = TagSection::new();
    tags.tag(TagType { kind: TagKind::Exception, func_type_idx: 1 });
    let (mut declared, mut code) = (FunctionSection::new(), CodeSection::new());
    for function in functions {
        declared.function(0);
        code.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&declared).section(&tags).section(&code);
    module
}

/// A function of these instructions.
pub(crate) fn function<'a>(body: impl IntoIterator<Item = Instruction<'a>>) -> Function {
    let mut function = Function::new([]);
    body.into_iter().for_each(|instruction| {
        function.instruction(&instruction);
    });
    function.instruction(&Instruction::End);
    function
}

fn times<'a, const N: usize>(
    count: usize,
    body: [Instruction<'a>; N],
) -> impl Iterator<Item = Instruction<'a>> {
    (0..count).flat_map(move |_| body.clone())
}

pub(crate) fn functions(count: usize) -> Vec<u8> {
    let one = |n| function(times(9, [Instruction::I32Const(n as i32 + 1_000_000), Instruction::Drop]));
    module((0..count).map(one)).finish()
}

pub(crate) fn empty_functions(count: usize) -> Vec<u8> {
    // The import is one too.
    let count = if count == 1_000_000 { count - 1 } else { count };
    module((0..count).map(|_| function([]))).finish()
}

pub(crate) fn large(bytes: usize) -> Vec<u8> {
    module([function(times(bytes, [Instruction::Nop]))]).finish()
}

pub(crate) fn calls_imports(bytes: usize) -> Vec<u8> {
    module([function(times(bytes / 2, [Instruction::Call(0)]))]).finish()
}

pub(crate) fn blocks(depth: usize) -> Vec<u8> {
    let begin = times(depth, [Instruction::Block(BlockType::Empty)]);
    let end = times(depth, [Instruction::End, Instruction::Nop]);
    module([function(begin.chain([Instruction::Return]).chain(end))]).finish()
}

pub(crate) fn branches(depth: usize) -> Vec<u8> {
    let begin = times(depth, [Instruction::Loop(BlockType::Empty)]);
    let out = (0..depth)
        .flat_map(|n| [Instruction::I32Const(0), Instruction::BrIf((depth - n) as u32), Instruction::End]);
    module([function(begin.chain(out))]).finish()
}

fn try_table(ty: BlockType, clauses: Vec<Catch>) -> Instruction<'static> {
    Instruction::TryTable(ty, clauses.into())
}

pub(crate) fn nested_try_tables(depth: usize) -> Vec<u8> {
    let begin = times(depth, [try_table(BlockType::Empty, vec![Catch::All { label: 0 }])]);
    let out = (0..depth)
        .flat_map(|n| [Instruction::I32Const(0), Instruction::BrIf((depth - n) as u32), Instruction::End]);
    module([function(begin.chain(out))]).finish()
}

pub(crate) fn try_tables_with_params(count: usize) -> Vec<u8> {
    let body = [
        Instruction::I32Const(1),
        try_table(BlockType::FunctionType(1), vec![Catch::All { label: 0 }]),
        Instruction::Drop,
        Instruction::End,
    ];
    module([function(times(count, body))]).finish()
}

pub(crate) fn clauses(count: usize) -> Vec<u8> {
    let clauses = vec![Catch::One { tag: 0, label: 0 }; count];
    let body = [
        Instruction::Block(BlockType::Result(ValType::I32)),
        try_table(BlockType::Empty, clauses),
        Instruction::End,
        Instruction::I32Const(0),
        Instruction::End,
        Instruction::Drop,
    ];
    module([function(body)]).finish()
}

pub(crate) fn legacy_tries(depth: usize) -> Vec<u8> {
    let begin = times(depth, [Instruction::Try(BlockType::Empty)]);
    let end = times(depth, [Instruction::CatchAll, Instruction::Rethrow(0), Instruction::End]);
    module([function(begin.chain(end))]).finish()
}

pub(crate) fn br_tables(count: usize) -> Vec<u8> {
    let targets: Vec<u32> = (0..10_000).map(|n| n % 2).collect();
    let begin = [try_table(BlockType::Empty, vec![Catch::All { label: 0 }])];
    let tables = (0..count).flat_map(|_| {
        let table = Instruction::BrTable(targets.clone().into(), 0);
        [Instruction::Block(BlockType::Empty), Instruction::I32Const(0), table, Instruction::End]
    });
    module([function(begin.into_iter().chain(tables).chain([Instruction::End]))]).finish()
}

pub(crate) fn wide(count: usize) -> Vec<u8> {
    let ty = vec![ValType::I64; 1_000];
    let one = || function([Instruction::Unreachable]);
    typed(ty.clone(), ty, (0..count).map(|_| one())).finish()
}

pub(crate) fn locals(count: usize) -> Vec<u8> {
    let groups = (0..count).map(|n| (1, if n % 2 == 0 { ValType::I32 } else { ValType::F64 }));
    let mut function = Function::new(groups.collect::<Vec<_>>());
    function.instruction(&Instruction::End);
    module([function]).finish()
}

/// One function of branches, each with a hint, and as many hints for offsets that don't exist.
pub(crate) fn hinted(count: usize) -> Vec<u8> {
    let branch = [Instruction::I32Const(0), Instruction::BrIf(0)];
    let begin = [Instruction::Block(BlockType::Empty)];
    let function = function(begin.into_iter().chain(times(count, branch)).chain([Instruction::End]));
    // The count of locals, the block, and each constant take one byte, one and two.
    let hint = |n: usize, step: usize| BranchHint {
        branch_func_offset: (5 + step * n) as u32,
        branch_hint_value: 1,
    };
    let mut hints = BranchHints::new();
    hints.function_hints(1, (0..count).map(|n| hint(n, 4)).collect::<Vec<_>>());
    hints.function_hints(7, (0..count).map(|n| hint(n, 3)).collect::<Vec<_>>());
    let plain = module([function]).finish();
    // In front of the code, which is the last section.
    let sections = wasmparser::Parser::new(0).parse_all(&plain);
    let mut sections = sections.filter_map(|payload| payload.unwrap().as_section());
    let code = sections.find(|section| section.0 == 10).map(|(_, range)| range.start as usize);
    let at = plain[..code.unwrap()].iter().rposition(|&byte| byte == 10).unwrap();
    let mut wasm = plain[..at].to_vec();
    hints.append_to(&mut wasm);
    wasm.extend(&plain[at..]);
    wasm
}
