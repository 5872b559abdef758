//! Custom sections: what goes stale when bodies change, and who is said to have processed the module.

use crate::Error;
use wasm_encoder::{ProducersField, ProducersSection, Section as _};
use wasmparser::{BinaryReader, ProducersSectionReader};

/// Whether a section speaks of offsets into the code, or of its relocation, which no longer hold.
pub(crate) fn goes_stale(name: &str) -> bool {
    const EXACT: [&str; 7] = [
        "linking",
        "sourceMappingURL",
        "external_debug_info",
        "core",
        "corestack",
        "coremodules",
        "coreinstances",
    ];
    const PREFIXES: [&str; 4] = [".debug_", "reloc.", "metadata.code.", ".gnu_debug"];
    EXACT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The `producers` section with us as one who processed the module; `existing` is its data, if there is one.
pub(crate) fn producers(existing: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), Error> {
    const PROCESSED_BY: &str = "processed-by";
    let mut section = ProducersSection::new();
    let mut processed_by = ProducersField::new();
    if let Some(data) = existing {
        for field in ProducersSectionReader::new(BinaryReader::new(data, 0))? {
            let field = field?;
            let mut values = ProducersField::new();
            for value in field.values {
                let value = value?;
                values.value(value.name, value.version);
            }
            if field.name == PROCESSED_BY {
                processed_by = values;
            } else {
                section.field(field.name, &values);
            }
        }
    }
    processed_by.value("kperf-rewriter", env!("CARGO_PKG_VERSION"));
    section.field(PROCESSED_BY, &processed_by);
    section.append_to(out);
    Ok(())
}
