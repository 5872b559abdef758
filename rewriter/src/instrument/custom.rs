//! Custom sections that go stale when bodies change, and `producers` and `target_features`.

use crate::error::Error;
use wasm_encoder::{Encode, ProducersField, ProducersSection, Section as _};
use wasmparser::{BinaryReader, ProducersSectionReader};

/// Whether a section has offsets into the code, or its relocations, which no longer hold.
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

/// Writes the `producers` section with this crate in it; `existing` is the data of the module's own.
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

/// The `target_features` section with the recorder's features added. The names are LLVM's; Binaryen rejects features
/// that are used and not listed. Fails on malformed data.
pub(crate) fn target_features(data: &[u8], added: &[&str]) -> Result<Vec<u8>, Error> {
    const USED: u8 = b'+';
    let mut reader = BinaryReader::new(data, 0);
    let mut features = Vec::new();
    for _ in 0..reader.read_var_u32()? {
        let prefix = reader.read_u8()?;
        features.push((prefix, reader.read_string()?));
    }
    for &name in added {
        match features.iter_mut().find(|feature| feature.1 == name) {
            // The feature may have been disallowed.
            Some(feature) => feature.0 = USED,
            None => features.push((USED, name)),
        }
    }
    let mut out = Vec::new();
    (features.len() as u32).encode(&mut out);
    for (prefix, name) in features {
        out.push(prefix);
        name.encode(&mut out);
    }
    Ok(out)
}
