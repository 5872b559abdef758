//! Shows the code around the offset at which a module is invalid.

use std::fmt::Write;
use wasmparser::{FunctionBody, Parser, Payload};

/// Number of instructions before and after the offset.
const BEFORE: usize = 12;
const BEHIND: usize = 4;

/// The function around an offset as text, or the section that contains it. The module may have millions of functions.
pub(crate) fn around(wasm: &[u8], offset: u64) -> String {
    let (mut imported, mut body) = (0, 0);
    for payload in Parser::new(0).parse_all(wasm) {
        let Ok(payload) = payload else { break };
        match &payload {
            Payload::ImportSection(imports) => {
                let is_function =
                    |import: &wasmparser::Import<'_>| matches!(import.ty, wasmparser::TypeRef::Func(_));
                imported = imports.clone().into_imports().flatten().filter(is_function).count();
            }
            Payload::CodeSectionEntry(function) => {
                if function.range().contains(&offset) {
                    let at = function.range().start;
                    return format!(
                        "function {} (its body begins at {at:#x}):\n{}",
                        imported + body,
                        instructions(function, offset)
                    );
                }
                body += 1;
                continue;
            }
            _ => {}
        }
        // The bodies follow the start of the code section.
        if let Some((id, range)) = payload.as_section()
            && range.contains(&offset)
            && !matches!(payload, Payload::CodeSectionStart { .. })
        {
            return format!("section {id}, which begins at {:#x}\n", range.start);
        }
    }
    String::new()
}

fn instructions(function: &FunctionBody<'_>, offset: u64) -> String {
    let mut lines = Vec::new();
    let mut behind = 0;
    let Ok(mut operators) = function.get_operators_reader() else { return String::new() };
    while !operators.eof() && behind < BEHIND {
        let at = operators.original_position();
        let text = match operators.read() {
            Ok(operator) => format!("{operator:?}"),
            Err(error) => error.message().to_owned(),
        };
        let ends = operators.original_position();
        let here = (at..ends.max(at + 1)).contains(&offset);
        lines.push(format!("{} {at:#08x} {text}", if here { ">" } else { " " }));
        behind += usize::from(at > offset);
        if lines.len() > 4 * (BEFORE + BEHIND) && at < offset {
            lines.drain(..lines.len() - BEFORE);
        }
        if ends <= at {
            break;
        }
    }
    let first = lines.len().saturating_sub(BEFORE + BEHIND + 1);
    lines[first..].iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_place_is_told() {
        let functions = "(func) ".repeat(1000);
        let nops = "nop ".repeat(1000);
        let text = format!(
            "(module (import \"a\" \"b\" (func)) {functions} (func {nops} i32.const 1 i32.add drop {nops}))"
        );
        let wasm = wat::parse_str(text).unwrap();
        let error = wasmparser::Validator::new().validate_all(&wasm).err().unwrap();
        let text = around(&wasm, error.offset());
        assert!(text.starts_with("function 1001 (its body begins at 0x"), "{text}");
        let place = text.lines().find(|line| line.starts_with('>')).unwrap();
        assert!(place.ends_with(" I32Add"), "{text}");
        assert!(text.contains("I32Const { value: 1 }") && text.lines().count() < 30, "{text}");
    }

    #[test]
    fn a_place_that_is_no_function() {
        let wasm = wat::parse_str("(module (func) (global i32 (i64.const 1)))").unwrap();
        let error = wasmparser::Validator::new().validate_all(&wasm).err().unwrap();
        assert!(around(&wasm, error.offset()).starts_with("section 6, "));
        assert_eq!(around(&wasm[..20], 1000), "");
        assert_eq!(around(b"", 0), "");
    }
}
