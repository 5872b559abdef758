//! Puts the recorder's tag into a page, before anything that the page does.

use crate::OURS;

/// The tag that loads the recorder. `nonce` is what scripts of the page have, if it demands one; `attributes` say how the page
/// records, and are put in as they are.
pub fn tag(nonce: Option<&str>, is_xml: bool, attributes: &str) -> String {
    let nonce = nonce.map(|nonce| format!(" nonce=\"{nonce}\"")).unwrap_or_default();
    // In XHTML a tag outside of the namespace is no script.
    let namespace = if is_xml { " xmlns=\"http://www.w3.org/1999/xhtml\"" } else { "" };
    format!(
        "<script{namespace} src=\"{OURS}kperf.js\"{nonce} data-post=\"{OURS}trace\" data-probe=\"auto\" \
         data-server=\"{OURS}probe\" {attributes}></script>"
    )
}

/// The page with `tag` as the first thing in its head. Nothing else changes.
pub fn insert(page: &[u8], tag: &str) -> Vec<u8> {
    let (at, _) = place(page);
    let (before, behind) = page.split_at(at.min(page.len()));
    [before, tag.as_bytes(), behind].concat()
}

/// Where the tag goes, and whether that stays so whatever follows: whether the beginning of a page is enough.
///
/// A page begins with comments, `<?xml ..?>`, a doctype, `<html ..>` and `<head ..>`, in this order, and each may be missing. The tag
/// goes behind those that are there.
pub fn place(page: &[u8]) -> (usize, bool) {
    /// Bytes by which every tag that is looked for can be told from others.
    const TELLING: usize = "<!doctype>".len();
    let mut at = if page.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    // If spaces and comments aren't followed by a doctype, html or head, the tag goes in front of them.
    let mut found = at;
    loop {
        let rest = page.get(at..).unwrap_or_default();
        if rest.first().is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        } else if rest.starts_with(b"<!--") {
            let Some(length) = find(rest, b"-->") else { return (found, false) };
            at += length + 3;
        } else if rest.starts_with(b"<?") {
            let Some(length) = find(rest, b">") else { return (found, false) };
            at += length + 1;
            found = at;
        } else if begins_with_tag(rest, b"<!doctype") || begins_with_tag(rest, b"<html") {
            let Some(length) = end_of_tag(rest) else { return (found, false) };
            at += length;
            found = at;
        } else if begins_with_tag(rest, b"<head") {
            return end_of_tag(rest).map_or((found, false), |length| (at + length, true));
        } else {
            return (found, rest.len() >= TELLING);
        }
    }
}

/// Whether it begins with a tag of this name, and not of a longer one (`<header>`).
fn begins_with_tag(rest: &[u8], tag: &[u8]) -> bool {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    rest.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag))
        && rest.get(tag.len()).is_some_and(ends)
}

/// The length of a tag: to the first `>` that is in no quotes.
fn end_of_tag(rest: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, &byte) in rest.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    fn insert(page: &str) -> String {
        String::from_utf8(super::insert(page.as_bytes(), "<T>")).unwrap()
    }

    #[test]
    fn the_tag_is_the_first_thing_in_the_head() {
        for (page, expected) in [
            ("<!doctype html><html><head><title>x", "<!doctype html><html><head><T><title>x"),
            (
                "<!DOCTYPE html>\n<HTML lang=en>\n<Head data-x='>'>\n<p>",
                "<!DOCTYPE html>\n<HTML lang=en>\n<Head data-x='>'><T>\n<p>",
            ),
            ("<!-- <head> --><!doctype html><header>x", "<!-- <head> --><!doctype html><T><header>x"),
            ("<html><!-- a --><body>", "<html><T><!-- a --><body>"),
            ("<script>1</script>", "<T><script>1</script>"),
            ("\u{feff}<head>x", "\u{feff}<head><T>x"),
            ("", "<T>"),
            (
                "<?xml version=\"1.0\"?>\n<html xmlns='x'><head><title/>",
                "<?xml version=\"1.0\"?>\n<html xmlns='x'><head><T><title/>",
            ),
            ("<?xml", "<T><?xml"),
            ("text <head>", "<T>text <head>"),
            ("<!doctype html", "<T><!doctype html"),
            ("<!-- never ends", "<T><!-- never ends"),
        ] {
            assert_eq!(insert(page), expected);
            // A beginning that is enough says the same as all of it.
            let cuts = (0..page.len()).filter(|&cut| page.is_char_boundary(cut));
            for (start, rest) in cuts.map(|cut| page.split_at(cut)) {
                if super::place(start.as_bytes()).1 {
                    assert_eq!(insert(start) + rest, expected, "{start}");
                }
            }
        }
        let is_enough = |page: &str| super::place(page.as_bytes()).1;
        assert!(is_enough("<html><head><title>") && is_enough("<script>1</script>"));
        assert!(!is_enough("<html><hea") && !is_enough("<!-- <head>"));
    }
}
