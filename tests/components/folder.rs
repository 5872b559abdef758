//! A folder in which the command runs, and what its traces tell.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use wasmparser::{Parser, Payload};

pub(crate) struct Folder(TempDir);

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn with(self, name: &str, bytes: impl AsRef<[u8]>) -> Folder {
        fs::write(self.path(name), bytes).unwrap();
        self
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kperf-wasm"));
        let output = command.args(args).current_dir(self.0.path()).output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The calls of each function in a trace. Fails if an event is lost, or a call has no end.
    pub(crate) fn calls(&self, trace: &str) -> BTreeMap<String, u64> {
        let info = self.info(trace);
        assert_eq!(info["lost_events"], 0);
        assert_eq!(info["calls"], info["leaves"], "every call has its end");
        let report = self.json(&["report", trace, "--format", "json"]);
        let functions = report["functions"].as_array().unwrap().iter();
        functions.map(|f| (f["name"].as_str().unwrap().to_owned(), f["calls"].as_u64().unwrap())).collect()
    }

    /// What is told of a trace.
    pub(crate) fn info(&self, trace: &str) -> Value {
        self.json(&["info", trace, "--format", "json"])
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

pub(crate) fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/components").join(name);
    path.to_str().unwrap().to_owned()
}

/// The first core module of a component.
pub(crate) fn first_module(component: &[u8]) -> &[u8] {
    let modules = Parser::new(0).parse_all(component).find_map(|payload| match payload.unwrap() {
        Payload::ModuleSection { unchecked_range, .. } => Some(unchecked_range),
        _ => None,
    });
    let range = modules.unwrap();
    &component[range.start as usize..range.end as usize]
}
