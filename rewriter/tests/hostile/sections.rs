//! Modules with many items other than functions, and with unusual custom sections.

use crate::code::{function, module};
use std::borrow::Cow;
use wasm_encoder::{
    CodeSection, CompositeInnerType, CompositeType, ConstExpr, CustomSection, DataCountSection, DataSection,
    ElementSection, Elements, EntityType, ExportKind, ExportSection, FuncType, FunctionSection,
    GlobalSection, GlobalType, ImportSection, IndirectNameMap, MemorySection, MemoryType, Module, NameMap,
    NameSection, RefType, Section, SubType, TableSection, TableType, TagKind, TagSection, TagType,
    TypeSection, ValType,
};

fn empty(count: usize) -> Module {
    module((0..count).map(|_| function([])))
}

fn names(count: usize, name: &str) -> NameSection {
    let mut map = NameMap::new();
    // The import comes first.
    (0..count as u32).for_each(|n| map.append(n + 1, name));
    let mut names = NameSection::new();
    names.functions(&map);
    names
}

pub(crate) fn long_name(bytes: usize) -> Vec<u8> {
    empty(1).section(&names(1, &"x".repeat(bytes))).clone().finish()
}

pub(crate) fn same_names(count: usize) -> Vec<u8> {
    empty(count).section(&names(count, "the same")).clone().finish()
}

/// C++ names: types of three levels, each with ten of the one below.
pub(crate) fn mangled(count: usize) -> Vec<u8> {
    let level = |n: &str| format!("S_I{}E", n.repeat(10));
    let name = format!("_Z1f1xI{}E{}{}{}", "i".repeat(10), level("S0_"), level("S1_"), level("S2_"));
    empty(count).section(&names(count, &name)).clone().finish()
}

pub(crate) fn broken_names(count: usize) -> Vec<u8> {
    let mut content = Vec::new();
    names(count, "a name").append_to(&mut content);
    let at = content.windows(6).rposition(|window| window == b"a name").unwrap();
    content[at] = 0xff;
    let mut wasm = empty(count).finish();
    wasm.extend(content);
    wasm
}

pub(crate) fn inner_names(count: usize) -> Vec<u8> {
    let mut map = NameMap::new();
    (0..count as u32).for_each(|n| map.append(n, "inner"));
    let mut functions = IndirectNameMap::new();
    functions.append(1, &map);
    let mut names = NameSection::new();
    names.locals(&functions);
    names.labels(&functions);
    empty(1).section(&names).clone().finish()
}

pub(crate) fn name_sections(count: usize) -> Vec<u8> {
    let mut module = empty(count);
    (0..count).for_each(|_| {
        module.section(&names(1_000, "n"));
    });
    module.finish()
}

fn custom_section(name: &'static str) -> CustomSection<'static> {
    CustomSection { name: name.into(), data: Cow::Borrowed(b"\x01\x02\x03") }
}

pub(crate) fn custom(count: usize) -> Vec<u8> {
    let each =
        ["producers", "name", ".debug_info", "metadata.code.branch_hint", "", "target_features", "dylink.0"];
    let odd = |module: &mut Module| {
        for name in each.iter().cycle().take(count / 8) {
            module.section(&custom_section(name));
        }
    };
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export("f", ExportKind::Func, 0);
    let mut code = CodeSection::new();
    code.function(&function([]));
    let mut module = Module::new();
    let known: [&dyn Fn(&mut Module); 4] = [
        &|module| {
            module.section(&types);
        },
        &|module| {
            module.section(&functions);
        },
        &|module| {
            module.section(&exports);
        },
        &|module| {
            module.section(&code);
        },
    ];
    odd(&mut module);
    for section in known {
        section(&mut module);
        odd(&mut module);
    }
    module.finish()
}

/// A module of these sections around one function.
fn around(before: &[&dyn Section], between: &[&dyn Section], behind: &[&dyn Section]) -> Vec<u8> {
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut code = CodeSection::new();
    code.function(&function([]));
    let mut wasm = Module::HEADER.to_vec();
    let mut put = |section: &dyn Section| {
        wasm.push(section.id());
        section.encode(&mut wasm);
    };
    before.iter().for_each(|section| put(*section));
    put(&functions);
    between.iter().for_each(|section| put(*section));
    put(&code);
    behind.iter().for_each(|section| put(*section));
    wasm
}

fn plain_type() -> TypeSection {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    types
}

pub(crate) fn data(count: usize) -> Vec<u8> {
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut data = DataSection::new();
    for n in 0..count {
        data.active(0, &ConstExpr::i32_const(n as i32 & 0xffff), [1]);
    }
    let data_count = DataCountSection { count: count as u32 };
    around(&[&plain_type()], &[&memories, &data_count], &[&data])
}

pub(crate) fn types(count: usize) -> Vec<u8> {
    let mut types = plain_type();
    (1..count).for_each(|n| {
        let bits = (0..17).map(|bit| if n >> bit & 1 == 0 { ValType::I32 } else { ValType::F32 });
        types.ty().function(bits.collect::<Vec<_>>(), []);
    });
    around(&[&types], &[], &[])
}

pub(crate) fn recursive(count: usize) -> Vec<u8> {
    let mut types = plain_type();
    let of = |_| SubType {
        is_final: true,
        supertype_idxs: Vec::new(),
        composite_type: CompositeType {
            inner: CompositeInnerType::Func(FuncType::new([ValType::I32], [])),
            shared: false,
            describes: None,
            descriptor: None,
        },
    };
    types.ty().rec((0..count).map(of).collect::<Vec<_>>());
    around(&[&types], &[], &[])
}

pub(crate) fn imports(count: usize) -> Vec<u8> {
    let mut imports = ImportSection::new();
    for _ in 0..count {
        imports.import("host", "f", EntityType::Function(0));
    }
    around(&[&plain_type(), &imports], &[], &[])
}

pub(crate) fn exports(count: usize) -> Vec<u8> {
    let mut exports = ExportSection::new();
    for n in 0..count {
        exports.export(&format!("export {n}"), ExportKind::Func, 0);
    }
    around(&[&plain_type()], &[&exports], &[])
}

pub(crate) fn others(count: usize) -> Vec<u8> {
    let mut tables = TableSection::new();
    let table = TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: 1,
        maximum: None,
        shared: false,
    };
    tables.table(table);
    let mut tags = TagSection::new();
    let mut globals = GlobalSection::new();
    let mut elements = ElementSection::new();
    for _ in 0..count {
        tags.tag(TagType { kind: TagKind::Exception, func_type_idx: 0 });
        let ty = GlobalType { val_type: ValType::Ref(RefType::FUNCREF), mutable: false, shared: false };
        globals.global(ty, &ConstExpr::ref_func(0));
        elements.active(None, &ConstExpr::i32_const(0), Elements::Functions(vec![0].into()));
    }
    around(&[&plain_type()], &[&tables, &tags, &globals, &elements], &[])
}
