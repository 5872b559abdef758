//! Programs that compilers made, and one by hand, that throw, catch, jump by tables and give up their frames.

use std::path::Path;

/// Their names, and the modules.
pub(crate) fn all() -> Vec<(String, Vec<u8>)> {
    let own = wat::parse_str(include_str!("unwinding.wat")).unwrap();
    let mut all = vec![("unwinding".to_owned(), own)];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (folder, ending) in
        [("tests/conformance/unwinding", "-exnref.wasm"), ("tests/callbacks/programs", ".wat")]
    {
        let before = all.len();
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().ends_with(ending) {
                let wasm = wat::parse_bytes(&std::fs::read(&path).unwrap()).unwrap().into_owned();
                all.push((path.display().to_string(), wasm));
            }
        }
        assert!(all.len() >= before + 3, "{folder} has {} programs", all.len() - before);
    }
    all
}
