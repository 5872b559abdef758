//! The counts as `README.md` has them.

const BEGIN: &str = "<!-- counts: begin -->\n";
const END: &str = "<!-- counts: end -->";

/// Fails unless these counts are committed; `BLESS=1` writes them.
pub(crate) fn compare(counts: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (committed, after) = rest.split_once(END).unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{counts}{END}{after}")).unwrap();
        return;
    }
    let differ = "README.md has other counts; if these are right, BLESS=1 writes them";
    assert!(committed == counts, "{differ}. It has\n{committed}");
}
