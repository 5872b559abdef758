//! Runs the command in a test's folder.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_kperf-wasm");

pub(crate) fn command(folder: impl AsRef<Path>, args: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(args).current_dir(folder);
    command
}

pub(crate) fn output(folder: impl AsRef<Path>, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// The stdout and stderr of a command that must succeed.
pub(crate) fn kperf(folder: impl AsRef<Path>, args: &[&str]) -> (String, String) {
    let ran = Ran::of(output(folder, args));
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    (ran.stdout, ran.stderr)
}

/// The Game of Life in a language.
pub(crate) fn life(language: &str) -> String {
    format!("{ROOT}/examples/game-of-life/{language}/life.wasm")
}

/// What a command answered.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A folder of a test's own.
pub(crate) struct Folder(TempDir);

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        self.0.path()
    }
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
        Ran::of(output(self, args))
    }

    /// What a command that must succeed prints as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&kperf(self, args).0).unwrap()
    }

    pub(crate) fn info(&self, trace: &str) -> Value {
        self.json(&["info", trace, "--format", "json"])
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
}
