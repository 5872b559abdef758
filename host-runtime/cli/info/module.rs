//! The description of a module.

use super::Lines;
use crate::shared::table::{grouped, plural};
use anyhow::Context;
use kperf_abi::symbols::ModuleIdentity;
use kperf_profile::printable;
use serde::Serialize;
use wasmparser::{ExternalKind, KnownCustom, Name, Parser, Payload, TypeRef, Validator, WasmFeatures};

/// The description of a module.
#[derive(Debug, Default, Serialize)]
pub struct Module {
    bytes: usize,
    code_bytes: u64,
    /// Functions with a body.
    functions: u32,
    /// How many functions with a body the name section names; `null` if there is no name section.
    named_functions: Option<usize>,
    imported_functions: u32,
    exported_functions: u32,
    /// Index of the function that runs when it is instantiated.
    start: Option<u32>,
    custom_sections: Vec<CustomSection>,
    /// `null` if it has none.
    probes: Option<Probes>,
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
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let is_function = matches!(import?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
                    module.imported_functions += u32::from(is_function);
                }
            }
            Payload::FunctionSection(section) => module.functions = section.count(),
            Payload::ExportSection(section) => {
                for export in section {
                    let is_function = matches!(export?.kind, ExternalKind::Func | ExternalKind::FuncExact);
                    module.exported_functions += u32::from(is_function);
                }
            }
            Payload::StartSection { func, .. } => module.start = Some(func),
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
    let (imported, defined) = (module.imported_functions, module.functions);
    module.named_functions = named.map(|names| named_functions(names, imported, defined));
    Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).context("the module is invalid")?;
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

/// The description for people.
pub fn text(module: &Module) -> String {
    let mut lines = Lines::default();
    lines.add(
        "module",
        format_args!("{} bytes, {} of them code", grouped(module.bytes as u64), grouped(module.code_bytes)),
    );
    let named = match module.named_functions {
        Some(named) => format!("{} named", grouped(named as u64)),
        None => "no name section".to_owned(),
    };
    lines.add("functions", format_args!("{}, {named}", grouped(module.functions.into())));
    if let Some(start) = module.start {
        lines.add("start", format_args!("func[{start}]"));
    }
    lines.add("imports", plural(module.imported_functions.into(), "function"));
    lines.add("exports", plural(module.exported_functions.into(), "function"));
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
