//! `plan`, and the recordings that follow one.

use crate::common::command::{Folder, kperf, life};
use std::fs;

fn skipped(folder: &Folder, plan: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.path(plan)).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("skip ")).map(str::to_owned).collect()
}

#[test]
fn functions_of_a_plan_have_no_calls_and_all_others_have_theirs() {
    let folder = Folder::new();
    let life = life("c");
    kperf(&folder, &["run", "-q", "--clock", "test", "--trace", "all.kperf", &life, "--", "50"]);
    let planned = kperf(&folder, &["plan", "all.kperf", "--budget", "0.05%", "-o", "life.plan"]);
    let skipped = skipped(&folder, "life.plan");
    let count = format!("{} function", skipped.len());
    assert!(planned.1.contains(&count) && !skipped.is_empty(), "{}", planned.1);
    kperf(
        &folder,
        &["run", "-q", "--clock", "test", "--plan", "life.plan", "--trace", "few.kperf", &life, "--", "50"],
    );
    let mut all = folder.calls("all.kperf");
    for name in &skipped {
        assert!(all.remove(name).is_some(), "{name} was no function of the program");
    }
    assert_eq!(folder.calls("few.kperf"), all);
    // A plan of what a plan has left would bring the others back.
    let again = kperf(&folder, &["plan", "few.kperf"]);
    assert!(again.1.contains("only some functions had probes (--plan life.plan"), "{}", again.1);
}

#[test]
fn names_are_no_patterns() {
    let names = ["*", "# x", "/f/", " a  b ", "skip", "\\\"q\\\"", "twin", "twin"];
    let functions: String = names.iter().map(|name| format!("(func (@name \"{name}\"))")).collect();
    let calls: String =
        (0..names.len()).map(|n| format!("(call {n})").repeat(if n == 6 { 1 } else { 9 })).collect();
    let main = format!("(module {functions} (func $main (export \"_start\") {calls}))");
    let folder = Folder::new().with("m.wat", &main);
    kperf(&folder, &["run", "-q", "--clock", "test", "--trace", "all.kperf", "m.wat"]);
    fs::write(folder.path("m.plan"), "skip # x\nskip *\nskip  a  b \nskip twin #7\nskip \"q\"\n").unwrap();
    let ran = kperf(
        &folder,
        &["run", "-q", "--clock", "test", "--plan", "m.plan", "--trace", "few.kperf", "m.wat"],
    );
    assert_eq!(ran.1, "");
    let left: Vec<String> = folder.calls("few.kperf").into_keys().collect();
    assert_eq!(left, ["/f/", "main", "skip", "twin"]);
    // Nothing is allowed, so all names go through the file.
    kperf(&folder, &["plan", "all.kperf", "--budget", "0%", "-o", "none.plan"]);
    let refused = folder.run(&["rewrite", "--plan", "none.plan", "m.wat"]);
    assert!(refused.stderr.contains("none of 9 functions pass the filters"), "{}", refused.stderr);
}

#[test]
fn a_plan_of_another_program_is_told() {
    let folder = Folder::new()
        .with("m.wat", "(module (func $f) (func $main (export \"_start\") (call $f)))")
        .with("other.plan", "skip g\nskip h\n")
        .with("old.plan", "skip f\nskip g\n")
        .with("no.plan", "f\n");
    let told = |plan| kperf(&folder, &["rewrite", "--plan", plan, "m.wat", "-o", "out.wasm"]).1;
    assert!(told("other.plan").contains("none of the plan's functions is there"));
    assert!(told("old.plan").contains("1 of the plan's 2 functions are not there"));
    let failed = folder.run(&["rewrite", "--plan", "no.plan", "m.wat"]);
    let why = "line 1 is neither `skip FUNCTION` nor a comment";
    assert!(failed.code == Some(1) && failed.stderr.contains(why), "{}", failed.stderr);
}
