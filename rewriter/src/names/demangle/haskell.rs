//! Symbols of GHC: `base_GHCziBase_map_info` is `base_GHC.Base_map_info`, as `zDecodeString` decodes it.
//!
//! Source: GHC's wiki, "SymbolNames". Any text may look like this, so what has no module's path (`GHCziBase`) and no ending of
//! GHC's stays as it is.

/// The suffixes of GHC's functions.
const ENDINGS: [&str; 8] =
    ["_info", "_entry", "_closure", "_slow", "_fast", "_ret", "_static_info", "_con_entry"];
/// The largest tuple there is.
const MAX_TUPLE: usize = 64;

/// The name, if it is one of GHC.
pub(super) fn demangle(mangled: &str) -> Option<String> {
    let is_path = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_uppercase())
            && part.split("zi").skip(1).any(|part| part.starts_with(|first: char| first.is_ascii_uppercase()))
    };
    let is_ghc = ENDINGS.iter().any(|ending| mangled.ends_with(ending)) && mangled.split('_').any(is_path);
    if is_ghc { decode(mangled) } else { None }
}

fn decode(mut text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    while let Some(at) = text.find(['z', 'Z']) {
        out.push_str(&text[..at]);
        let escape = &text.as_bytes()[at..];
        let length = match escape.get(1)? {
            b'0'..=b'9' if escape[0] == b'z' => {
                let end = text[at..].find('U')?;
                out.push(char::from_u32(u32::from_str_radix(&text[at + 1..at + end], 16).ok()?)?);
                end + 1
            }
            b'0'..=b'9' => {
                let end = text[at..].find(['T', 'H'])?;
                let commas = text[at + 1..at + end].parse::<usize>().ok()?;
                let commas = ",".repeat(commas.checked_sub(1).or(Some(0)).filter(|&n| n < MAX_TUPLE)?);
                let (open, close) = if escape[end] == b'T' { ("(", ")") } else { ("(#", "#)") };
                out.extend([open, commas.as_str(), close]);
                end + 1
            }
            &letter => {
                out.push(escaped(escape[0], letter)?);
                2
            }
        };
        text = &text[at + length..];
    }
    out.push_str(text);
    Some(out)
}

fn escaped(kind: u8, letter: u8) -> Option<char> {
    const SMALL: &[u8] = b"a&b|c^d$e=g>h#i.l<m-n!p+q\'r\\s/t*u_v%zz";
    const LARGE: &[u8] = b"C:L(M[N]R)ZZ";
    let table = if kind == b'z' { SMALL } else { LARGE };
    table.chunks_exact(2).find(|pair| pair[0] == letter).map(|pair| pair[1].into())
}
