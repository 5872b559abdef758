//! Tests that change their process's limits and signals: each runs again in a process of its own.

mod disk_full;
#[cfg(target_arch = "x86_64")]
mod native_limits;
#[cfg(target_arch = "x86_64")]
mod native_lost;
#[cfg(target_arch = "x86_64")]
mod native_taken;

use std::process::Command;

/// Set in a process that runs one test.
const ALONE: &str = "KPERF_TEST_ALONE";

/// Runs the test of this module and name in a process of its own. Answers whether this is that process.
fn is_alone(module: &str, name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    // The path without the program's name.
    let (_, module) = module.split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("{module}::{name}"), "--exact", "--nocapture"]).env(ALONE, "1");
    let output = command.output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
    false
}
