//! Texts of modules, as terminals and pictures can have them.

use std::borrow::Cow;
use std::fmt::Write;

/// Text from a module, such that it can't move the cursor, ring, turn the line around or end it, and is valid in an SVG.
/// Names come from the module, which isn't trusted.
pub fn printable(text: &str) -> Cow<'_, str> {
    let bad = |c: char| {
        // XML forbids the last two, also escaped: a picture that contains one is invalid.
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    if !text.contains(bad) {
        return text.into();
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if bad(c) {
            // Writing to a String doesn't fail.
            let _ = write!(clean, "{}", c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_has_no_place_for_is_spelled() {
        assert_eq!(printable("a\u{ffff}b\u{fffe}\0"), "a\\u{ffff}b\\u{fffe}\\u{0}");
        assert_eq!(printable("\u{fffd}\u{d7ff}\u{e000}\u{10ffff}"), "\u{fffd}\u{d7ff}\u{e000}\u{10ffff}");
    }
}
