//! The command line writes a file whole or not at all.

#![cfg(unix)]

use crate::common::command::{BINARY, command, output};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with the trace of a call.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let wat = "(module (func $g) (func (export \"f\") (call $g)))";
    fs::write(folder.path().join("calls.wat"), wat).unwrap();
    let run = output(folder.path(), &["run", "--clock", "test", "-q", "calls.wat", "--invoke", "f"]);
    assert!(run.status.success(), "{run:?}");
    folder
}

/// The names of the files there, but for those that [`folder`] has.
fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("calls.")).collect();
    names.sort();
    names
}

const CSV: [&str; 5] = ["export", "calls.kperf", "--format", "csv", "-o"];

fn csv(folder: &Path, file: &str) -> Output {
    output(folder, &[&CSV[..], &[file]].concat())
}

#[test]
fn permissions_and_links_stay() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("old.csv"), "before").unwrap();
    fs::set_permissions(path("old.csv"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(path("links")).unwrap();
    symlink("../old.csv", path("links/link.csv")).unwrap();
    symlink("new.csv", path("dangling.csv")).unwrap();
    assert!(csv(folder.path(), "links/link.csv").status.success());
    assert!(csv(folder.path(), "dangling.csv").status.success());
    assert!(fs::symlink_metadata(path("links/link.csv")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(path("dangling.csv")).unwrap().is_symlink());
    let written = fs::read_to_string(path("old.csv")).unwrap();
    assert!(written.starts_with("id,parent,") && written == fs::read_to_string(path("new.csv")).unwrap());
    assert_eq!(fs::metadata(path("old.csv")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(files(folder.path()), ["dangling.csv", "links", "new.csv", "old.csv"]);
}

/// A trace can't be recorded again as it was.
#[test]
fn no_output_takes_the_place_of_its_trace() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let before = fs::read(path("calls.kperf")).unwrap();
    symlink("calls.kperf", path("link.kperf")).unwrap();
    for command in [
        &["view", "calls.kperf", "--no-open", "-o"][..],
        &["flame", "calls.kperf", "-o"],
        &["graph", "calls.kperf", "--format", "svg", "-o"],
        &CSV,
    ] {
        for file in ["calls.kperf", "./calls.kperf", "link.kperf"] {
            let told = output(folder.path(), &[command, &[file]].concat());
            assert_eq!(told.status.code(), Some(1), "{told:?}");
            let stderr = String::from_utf8(told.stderr).unwrap();
            let wanted =
                format!("error: `{file}` is an input and would be overwritten; name another file with -o\n");
            assert_eq!(stderr, wanted, "{command:?}");
            assert!(fs::read(path("calls.kperf")).unwrap() == before, "{command:?}: the trace is another");
        }
    }
}

#[test]
fn devices_and_pipes_are_written_as_they_are() {
    let folder = folder();
    let expected = csv(folder.path(), "-").stdout;
    assert!(expected.starts_with(b"id,parent,"));
    assert_eq!(csv(folder.path(), "/dev/stdout").stdout, expected);
    assert!(csv(folder.path(), "/dev/null").status.success());
    assert!(fs::metadata("/dev/null").unwrap().len() == 0 && !fs::metadata("/dev/null").unwrap().is_file());
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    let reader = Command::new("cat").arg(folder.path().join("pipe")).stdout(Stdio::piped()).spawn().unwrap();
    assert!(csv(folder.path(), "pipe").status.success());
    assert_eq!(reader.wait_with_output().unwrap().stdout, expected);
    assert_eq!(files(folder.path()), ["pipe"]);
    // What a shell opened is written, and not replaced by another file.
    let redirected = folder.path().join("redirected.csv");
    let command = format!("{} {} /dev/stdout > redirected.csv", BINARY, CSV.join(" "));
    assert!(Command::new("sh").current_dir(folder.path()).args(["-c", &command]).status().unwrap().success());
    assert_eq!(fs::read(redirected).unwrap(), expected);
}

#[test]
fn a_full_disk_is_an_error() {
    let folder = folder();
    if !Path::new("/dev/full").exists() {
        return;
    }
    for args in [&CSV[..], &["flame", "calls.kperf", "-o"], &["rewrite", "calls.wat", "-o"]] {
        let output = output(folder.path(), &[args, &["/dev/full"]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains("No space left on device"), "{args:?}: {error}");
    }
}

/// Where a file can get no larger than some kilobytes the page doesn't fit.
#[test]
fn what_was_there_stays_when_there_is_no_room() {
    let folder = folder();
    fs::write(folder.path().join("page.html"), "before").unwrap();
    let program = BINARY;
    let command =
        format!("trap '' XFSZ; ulimit -f 8; exec {program} view calls.kperf --no-open -o page.html");
    let output = Command::new("sh").current_dir(folder.path()).args(["-c", &command]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("File too large"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("page.html")).unwrap(), "before");
    assert_eq!(files(folder.path()), ["page.html"]);
}

/// What may not be written is not replaced either.
#[test]
fn what_is_no_file_of_ours_stays() {
    let folder = folder();
    let failed = csv(folder.path(), ".");
    assert!(!failed.status.success(), "{failed:?}");
    assert_eq!(files(folder.path()), [""; 0]);
}

/// The trace comes from a pipe whose writer stops half way: the export is at work when it is killed.
#[test]
fn what_was_there_stays_when_the_process_is_killed() {
    let folder = folder();
    fs::write(folder.path().join("old.csv"), "before").unwrap();
    let trace = fs::read(folder.path().join("calls.kperf")).unwrap();
    let mut child = command(&folder, &["export", "-", "--format", "csv", "-o", "old.csv"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&trace[..trace.len() - 10]).unwrap();
    stdin.flush().unwrap();
    // It has begun its file.
    while files(folder.path()).len() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("old.csv")).unwrap(), "before");
}
