//! Names of Ada (GNAT): `ada__text_io__put_line__2` is `ada.text_io.put_line`.
//!
//! Source: GNAT's `exp_dbug.ads`. Nothing marks such a name: a package's `life__step` may be a name of C. So these are the main
//! subprogram (`_ada_life`) and what belongs to Ada's own packages.

const PACKAGES: [&str; 4] = ["ada", "gnat", "interfaces", "system"];
const OPERATORS: [(&str, &str); 19] = [
    ("Oabs", "abs"),
    ("Oadd", "+"),
    ("Oand", "and"),
    ("Oconcat", "&"),
    ("Odivide", "/"),
    ("Oeq", "="),
    ("Oexpon", "**"),
    ("Oge", ">="),
    ("Ogt", ">"),
    ("Ole", "<="),
    ("Olt", "<"),
    ("Omod", "mod"),
    ("Omultiply", "*"),
    ("One", "/="),
    ("Onot", "not"),
    ("Oor", "or"),
    ("Orem", "rem"),
    ("Osubtract", "-"),
    ("Oxor", "xor"),
];

/// The name, if it is one of Ada.
pub(super) fn demangle(mangled: &str) -> Option<String> {
    let main = mangled.strip_prefix("_ada_");
    let name = main.unwrap_or(mangled);
    let parts: Vec<&str> = name.split("__").collect();
    if main.is_none() && (parts.len() < 2 || !PACKAGES.contains(&parts[0])) {
        return None;
    }
    let mut out = String::with_capacity(name.len());
    for (n, part) in parts.iter().enumerate() {
        // Which of several of one name it is.
        if n > 0 && n + 1 == parts.len() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
            break;
        }
        // What belongs to a body of a package.
        let part = part.split_once('X').filter(|(_, rest)| rest.bytes().all(|byte| b"bn".contains(&byte)));
        let part = part.map_or(parts[n], |(part, _)| part);
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if n > 0 {
            out.push('.');
        }
        match OPERATORS.iter().find(|(name, _)| *name == part) {
            Some((_, operator)) => out.extend(["\"", operator, "\""]),
            None if !part.is_empty() && part.bytes().all(is_plain) => out.push_str(part),
            None => return None,
        }
    }
    Some(out)
}
