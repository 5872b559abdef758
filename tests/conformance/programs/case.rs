//! Reads the first lines of a program, which describe it: `// KEY: VALUE`.
//!
//! | key | |
//! |---|---|
//! | `package` | the package that it tests |
//! | `toolchain` | the toolchain that made the modules |
//! | `covers` | what it shows beyond calls and returns |
//! | `node` | `24` if the machine's node may be too old |
//! | `expect` | what must happen in the program: `unwound` (something was caught and closed frames), `left` (an exception left the guest), `open` (it ends inside the guest); or what may happen: `varies` (two runs don't make the same calls) |
//! | `counts` | `same`: it executes as many instructions in every run and in every node, as it asks for no time and no random number |
//! | `module`, `args` | of a `.run`: the command, and its arguments |

use std::path::PathBuf;

/// A program.
#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) package: String,
    pub(crate) toolchain: String,
    pub(crate) covers: String,
    pub(crate) expect: Vec<String>,
    /// Whether every run of it executes the same instructions.
    pub(crate) counts_same: bool,
    pub(crate) host: Host,
}

/// What runs the program.
#[derive(Debug, Default)]
pub(crate) enum Host {
    /// The machine's node.
    #[default]
    Node,
    /// The one from `package.json`.
    NewNode,
    /// wasmtime, by `kperf-wasm run`.
    Wasmtime { module: String, args: Vec<String> },
}

/// The folder with the programs.
pub(crate) fn folder() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/programs").into()
}

/// All programs, by name.
pub(crate) fn all() -> Vec<Case> {
    let paths = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "mjs" || extension == "run"))
        .filter_map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            read(name, &std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Returns `None` for a file that is only a part of a program.
fn read(name: String, text: &str) -> Option<Case> {
    let mut case = Case { name, ..Case::default() };
    let (mut module, mut args) = (None, Vec::new());
    for line in text.lines() {
        let Some((key, value)) = line.strip_prefix("// ").and_then(|line| line.split_once(": ")) else {
            break;
        };
        let (value, words) = (value.to_owned(), || value.split_whitespace().map(str::to_owned).collect());
        match key {
            "package" => case.package = value,
            "toolchain" => case.toolchain = value,
            "covers" => case.covers = value,
            "node" => case.host = Host::NewNode,
            "expect" => case.expect = words(),
            "counts" => case.counts_same = value == "same",
            "module" => module = Some(value),
            "args" => args = words(),
            _ => panic!("{}: what is `{key}`?", case.name),
        }
    }
    if let Some(module) = module {
        case.host = Host::Wasmtime { module, args };
    }
    (!case.package.is_empty()).then_some(case)
}
