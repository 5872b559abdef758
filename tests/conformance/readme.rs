//! The part of `README.md` between two marks, which is made from a run.

/// Fails if the committed text of this name is another one. `BLESS=1` writes it.
pub(crate) fn compare(name: &str, text: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/README.md");
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let readme = std::fs::read_to_string(path).unwrap();
    let (before, rest) = readme.split_once(&begin).unwrap();
    let (committed, after) = rest.split_once(&end).unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{before}{begin}{text}{end}{after}")).unwrap();
        return;
    }
    let differ = "README.md says otherwise; if this is right, BLESS=1 writes it";
    assert!(committed == text, "{differ}. It has\n{committed}\nnow it is\n{text}");
}
