//! The description of a module.

use super::{Lines, proposals};
use crate::shared::table::{grouped, plural};
use anyhow::Context;
use kperf_abi::symbols::ModuleIdentity;
use kperf_profile::printable;
use serde::Serialize;
use wasmparser::{ExternalKind, KnownCustom, Name, Parser, Payload, TypeRef};

/// The description of a module.
#[derive(Debug, Default, Serialize)]
pub struct Module {
    bytes: usize,
    /// The proposals without which it doesn't validate.
    proposals: Vec<String>,
    /// Functions with a body.
    functions: u32,
    code_bytes: u64,
    types: u32,
    imports: Kinds,
    exports: Kinds,
    tables: u32,
    memories: u32,
    globals: u32,
    tags: u32,
    element_segments: u32,
    data_segments: u32,
    /// Index of the function that runs when it is instantiated.
    start: Option<u32>,
    /// How many functions with a body the name section names; `null` if there is no name section.
    named_functions: Option<usize>,
    custom_sections: Vec<CustomSection>,
    /// `null` if it has none.
    probes: Option<Probes>,
}

/// How many of each kind.
#[derive(Debug, Default, Serialize)]
struct Kinds {
    functions: u32,
    tables: u32,
    memories: u32,
    globals: u32,
    tags: u32,
}

#[derive(Debug, Serialize)]
struct CustomSection {
    name: String,
    bytes: usize,
}

/// The module's probes, as its symbol table has them.
#[derive(Debug, Serialize)]
struct Probes {
    functions: usize,
    imported_functions: usize,
    /// How many of the probed functions are counted only.
    #[serde(skip_serializing_if = "is_zero")]
    counted_functions: usize,
    first_id: u32,
    end_id: u32,
    original: ModuleIdentity,
}

/// Describes a module. Fails with the offset where it is malformed or invalid.
pub fn describe(bytes: &[u8]) -> anyhow::Result<Module> {
    let mut module = Module { bytes: bytes.len(), ..Module::default() };
    let mut named = None;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::TypeSection(section) => module.types = section.count(),
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    module.imports.count(kind_of(import?.ty));
                }
            }
            Payload::FunctionSection(section) => module.functions = section.count(),
            Payload::TableSection(section) => module.tables = section.count(),
            Payload::MemorySection(section) => module.memories = section.count(),
            Payload::GlobalSection(section) => module.globals = section.count(),
            Payload::TagSection(section) => module.tags = section.count(),
            Payload::ExportSection(section) => {
                for export in section {
                    module.exports.count(export?.kind);
                }
            }
            Payload::StartSection { func, .. } => module.start = Some(func),
            Payload::ElementSection(section) => module.element_segments = section.count(),
            Payload::DataSection(section) => module.data_segments = section.count(),
            Payload::CodeSectionStart { size, .. } => module.code_bytes = size.into(),
            Payload::CustomSection(section) => {
                let name = section.name().to_owned();
                if let KnownCustom::Name(names) = section.as_known() {
                    named = Some(names);
                }
                module.custom_sections.push(CustomSection { name, bytes: section.data().len() });
            }
            _ => {}
        }
    }
    // Names of imported functions don't count, and the number of imports is known only now.
    let (imported, defined) = (module.imports.functions, module.functions);
    module.named_functions = named.map(|names| named_functions(names, imported, defined));
    module.proposals = proposals::used(bytes).context("the module is invalid")?;
    module.probes = kperf_rewriter::probed(bytes)?.map(|table| Probes {
        functions: table.symbols.len(),
        imported_functions: table.symbols.iter().filter(|symbol| symbol.imported).count(),
        counted_functions: table.symbols.iter().filter(|symbol| symbol.counted).count(),
        first_id: table.id_base,
        end_id: table.id_end(),
        original: table.module,
    });
    Ok(module)
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Counts the named functions as far as the name section can be read: a damaged one doesn't make the module invalid.
fn named_functions(names: wasmparser::NameSectionReader<'_>, imported: u32, defined: u32) -> usize {
    let maps = names.filter_map(|name| if let Ok(Name::Function(map)) = name { Some(map) } else { None });
    maps.flat_map(|map| map.into_iter().filter_map(Result::ok))
        .filter(|naming| naming.index.checked_sub(imported).is_some_and(|index| index < defined))
        .count()
}

fn kind_of(ty: TypeRef) -> ExternalKind {
    match ty {
        TypeRef::Func(_) => ExternalKind::Func,
        TypeRef::FuncExact(_) => ExternalKind::FuncExact,
        TypeRef::Table(_) => ExternalKind::Table,
        TypeRef::Memory(_) => ExternalKind::Memory,
        TypeRef::Global(_) => ExternalKind::Global,
        TypeRef::Tag(_) => ExternalKind::Tag,
    }
}

impl Kinds {
    fn count(&mut self, kind: ExternalKind) {
        let count = match kind {
            ExternalKind::Func | ExternalKind::FuncExact => &mut self.functions,
            ExternalKind::Table => &mut self.tables,
            ExternalKind::Memory => &mut self.memories,
            ExternalKind::Global => &mut self.globals,
            ExternalKind::Tag => &mut self.tags,
        };
        *count += 1;
    }

    fn text(&self) -> String {
        counts(&[
            (self.functions, "function", "functions"),
            (self.tables, "table", "tables"),
            (self.memories, "memory", "memories"),
            (self.globals, "global", "globals"),
            (self.tags, "tag", "tags"),
        ])
    }
}

/// `2 functions, 1 memory`; `none`.
fn counts(counts: &[(u32, &str, &str)]) -> String {
    let texts: Vec<String> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|&(count, one, many)| {
            format!("{} {}", grouped(count.into()), if count == 1 { one } else { many })
        })
        .collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

/// The description for people.
pub fn text(module: &Module) -> String {
    let mut lines = Lines::default();
    lines.add(
        "module",
        format_args!("{} bytes, {} of them code", grouped(module.bytes as u64), grouped(module.code_bytes)),
    );
    let none = "none beyond the MVP".to_owned();
    lines.add("proposals", if module.proposals.is_empty() { none } else { module.proposals.join(", ") });
    let named = match module.named_functions {
        Some(named) => format!("{} named", grouped(named as u64)),
        None => "no name section".to_owned(),
    };
    lines.add("functions", format_args!("{}, {named}", grouped(module.functions.into())));
    if let Some(start) = module.start {
        lines.add("start", format_args!("func[{start}]"));
    }
    lines.add("imports", module.imports.text());
    lines.add("exports", module.exports.text());
    lines.add(
        "defines",
        counts(&[
            (module.types, "type", "types"),
            (module.tables, "table", "tables"),
            (module.memories, "memory", "memories"),
            (module.globals, "global", "globals"),
            (module.tags, "tag", "tags"),
            (module.element_segments, "element segment", "element segments"),
            (module.data_segments, "data segment", "data segments"),
        ]),
    );
    for (n, section) in module.custom_sections.iter().enumerate() {
        let name = if n == 0 { "custom" } else { "" };
        lines.add(
            name,
            format_args!("`{}`, {} bytes", printable(&section.name), grouped(section.bytes as u64)),
        );
    }
    match &module.probes {
        None => lines.add("probes", "none"),
        Some(probes) => probes.add_to(&mut lines),
    }
    lines.0
}

impl Probes {
    fn add_to(&self, lines: &mut Lines) {
        let Probes { functions, imported_functions, counted_functions, first_id, end_id, original } = self;
        let host = match imported_functions {
            0 => String::new(),
            count => format!(", {} of the host", grouped(*count as u64)),
        };
        let functions = plural(*functions as u64, "function");
        let counted = super::counted_text(*counted_functions);
        let last = end_id.saturating_sub(1);
        lines.add("probes", format_args!("{functions}{host}{counted}, ids {first_id} to {last}"));
        let (name, count) = (printable(&original.name), plural(original.functions.into(), "function"));
        lines.add("original", format_args!("{name}, {count}, sha256 {}", printable(&original.sha256)));
        lines.add(
            "rewriter",
            format_args!("{} {}", printable(&original.rewriter), printable(&original.options)),
        );
    }
}
