//! Custom sections: what goes stale when bodies change, and who is said to have processed the module.

use crate::Error;
use wasm_encoder::{Encode, ProducersField, ProducersSection, Section as _};
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

/// The `target_features` section with what a recorder inside the module wants beside the module's own: the names are
/// LLVM's, and Binaryen refuses what is used and not named. Fails on data that is no such section.
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
            // It may have been forbidden.
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
