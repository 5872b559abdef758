//! Finds a probed module's symbol table.

use kperf_abi::names::SYMBOLS_SECTION;
use wasmparser::{Parser, Payload};

/// The symbol table that the rewriter left in a module, for [`Builder::symbols`](crate::Builder::symbols). `None` if the
/// bytes are no probed module. The table itself is not checked here.
pub fn symbols(wasm: &[u8]) -> Option<&[u8]> {
    Parser::new(0).parse_all(wasm).map_while(Result::ok).find_map(|payload| match payload {
        Payload::CustomSection(section) if section.name() == SYMBOLS_SECTION => Some(section.data()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_section_s_bytes() {
        let wasm =
            wat::parse_str(r#"(module (@custom "other" "x") (@custom "kperf.symbols" "table") (memory 1))"#)
                .expect("the text parses");
        assert_eq!(symbols(&wasm), Some(&b"table"[..]));
        assert_eq!(symbols(&wasm[..20]), None);
        assert_eq!(symbols(b"no module"), None);
    }
}
