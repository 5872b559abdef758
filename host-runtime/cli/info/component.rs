//! The description of a component.

use super::{Lines, counted_text};
use crate::shared::table::{grouped, plural};
use anyhow::Context;
use kperf_abi::SymbolTable;
use kperf_profile::printable;
use kperf_rewriter::{Described, Records};
use serde::Serialize;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// The description of a component.
#[derive(Debug, Default, Serialize)]
pub struct Component {
    bytes: usize,
    /// Also of nested components, in the order of the file.
    core_modules: Vec<CoreModule>,
    nested_components: usize,
    imports: Vec<String>,
    exports: Vec<String>,
    /// `null` if it has none.
    probes: Option<Probes>,
}

#[derive(Debug, Serialize)]
struct CoreModule {
    name: String,
    bytes: usize,
    functions: u32,
}

/// The probes of all core modules, as their symbol tables have them.
#[derive(Debug, Serialize)]
struct Probes {
    /// What their recorders record.
    records: &'static str,
    modules: usize,
    functions: usize,
    imported_functions: usize,
    counted_functions: usize,
    first_id: u32,
    end_id: u32,
}

/// Describes a component. Fails with the offset where it is malformed or invalid.
pub fn describe(bytes: &[u8]) -> anyhow::Result<Component> {
    let mut component = Component { bytes: bytes.len(), ..Component::default() };
    let mut open = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { .. } => open += 1,
            Payload::End(_) => open -= 1,
            Payload::ComponentSection { .. } => component.nested_components += 1,
            Payload::ComponentImportSection(imports) if open == 1 => {
                for import in imports {
                    component.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(exports) if open == 1 => {
                for export in exports {
                    component.exports.push(export?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Validator::new_with_features(WasmFeatures::all())
        .validate_all(bytes)
        .context("the component is invalid")?;
    let modules = kperf_rewriter::core_modules(bytes)?.into_iter();
    component.core_modules =
        modules.map(|Described { name, bytes, functions }| CoreModule { name, bytes, functions }).collect();
    let tables = kperf_rewriter::probed_component(bytes)?;
    let symbols = || tables.iter().flat_map(|table| &table.symbols);
    let ids =
        tables.iter().map(|table| table.id_base).min().zip(tables.iter().map(SymbolTable::id_end).max());
    if let Some((first_id, end_id)) = ids {
        let records = match kperf_rewriter::component_records(bytes) {
            Some(Records::Profile) => "a profile",
            Some(Records::Instructions) => "instructions",
            Some(Records::Trace) | None => "a trace",
        };
        component.probes = Some(Probes {
            records,
            // Not our modules that record calls of exports.
            modules: tables.iter().filter(|table| table.module.functions > 0).count(),
            functions: symbols().count(),
            imported_functions: symbols().filter(|symbol| symbol.imported).count(),
            counted_functions: symbols().filter(|symbol| symbol.counted).count(),
            first_id,
            end_id,
        });
    }
    Ok(component)
}

/// The description for people.
pub fn text(component: &Component) -> String {
    let mut lines = Lines::default();
    lines.add("component", format_args!("{} bytes", grouped(component.bytes as u64)));
    let all = |lines: &mut Lines, title: &str, values: Vec<String>| {
        if values.is_empty() {
            lines.add(title, "none");
        }
        for (n, value) in values.into_iter().enumerate() {
            lines.add(if n == 0 { title } else { "" }, value);
        }
    };
    let module = |module: &CoreModule| {
        let functions = plural(module.functions.into(), "function");
        format!("{}, {functions}, {} bytes", printable(&module.name), grouped(module.bytes as u64))
    };
    all(&mut lines, "core modules", component.core_modules.iter().map(module).collect());
    if component.nested_components > 0 {
        lines.add("nested", plural(component.nested_components as u64, "component"));
    }
    let printed = |names: &[String]| names.iter().map(|name| printable(name).into_owned()).collect();
    all(&mut lines, "imports", printed(&component.imports));
    all(&mut lines, "exports", printed(&component.exports));
    match &component.probes {
        None => lines.add("probes", "none"),
        Some(probes) => {
            let host = match probes.imported_functions {
                0 => String::new(),
                count => format!(", {} of the host", grouped(count as u64)),
            };
            lines.add(
                "probes",
                format_args!(
                    "{}{host}{} in {}, ids {} to {}, for {}",
                    plural(probes.functions as u64, "function"),
                    counted_text(probes.counted_functions),
                    plural(probes.modules as u64, "core module"),
                    probes.first_id,
                    probes.end_id.saturating_sub(1),
                    probes.records,
                ),
            );
        }
    }
    lines.0
}
