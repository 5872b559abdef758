//! Components in each way of recording: profiles, instructions, tasks of WASI 0.3.

use crate::common::command::Folder;
use crate::components::folder::{example, first_module};
use std::collections::{BTreeMap, HashSet};
use std::fs;

#[test]
fn a_profile_counts_the_calls_that_a_trace_has() {
    let command = example("command.wasm");
    let folder = Folder::new();
    let args = ["--", "31", "a rose is a rose"];
    let run = |flags: &[&str]| {
        let ran = folder.run(&[&["run", "-q", &command], flags, &args].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "1346269\n2 a\n1 is\n2 rose\n"),
            "{}",
            ran.stderr
        );
    };
    run(&["--trace", "trace.kperf"]);
    run(&["--trace", "profile.kperf", "--record", "profile"]);
    let report = folder.json(&["report", "profile.kperf", "--format", "json"]);
    let functions = report["functions"].as_array().unwrap();
    let counted: BTreeMap<String, u64> = functions
        .iter()
        .map(|f| (f["name"].as_str().unwrap().to_owned(), f["calls"].as_u64().unwrap()))
        .collect();
    assert_eq!(counted, folder.calls("trace.kperf"));
    // Other programs may have the processor while the export is entered, and its time is the wall's.
    let own = functions.iter().filter(|f| f["name"].as_str().unwrap().starts_with("command::"));
    let largest = own.max_by_key(|f| f["self_nanos"].as_u64()).unwrap();
    assert_eq!(largest["name"], "command::fibonacci");
    // Slow calls are listed one by one, from the component's export on.
    let tree = folder.run(&["replay", "profile.kperf"]).stdout;
    assert!(tree.contains("wasi:cli/run@0.2") && tree.contains("command::main"), "{tree}");
    let info = folder.info("profile.kperf");
    assert_eq!(info["cut_short"].as_object().map(serde_json::Map::len), Some(0), "{info}");
    // A component that `rewrite` made for it does the same.
    let rewritten = folder.run(&["rewrite", &command, "--record", "profile", "-o", "p.wasm", "--validate"]);
    assert_eq!(rewritten.code, Some(0), "{}", rewritten.stderr);
    assert!(folder.run(&["info", "p.wasm"]).stdout.contains(", for a profile\n"));
    let ran = folder.run(&["run", "p.wasm", "-q", "--trace", "p.kperf", "--", "31", "a rose is a rose"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let report = folder.json(&["report", "p.kperf", "--format", "json"]);
    let own = report["functions"].as_array().unwrap().iter();
    for function in own.filter(|f| f["name"].as_str().unwrap().starts_with("command::")) {
        assert_eq!(function["calls"], counted[function["name"].as_str().unwrap()]);
    }
    let other = folder.run(&["run", "p.wasm", "--clock", "instructions", "--trace", "p.kperf"]);
    assert!(other.code == Some(1) && other.stderr.contains("don't count instructions"), "{}", other.stderr);
}

#[test]
fn instructions_are_the_same_in_each_run_and_those_of_the_module_alone() {
    let command = example("command.wasm");
    let folder = Folder::new().with("module.wasm", first_module(&fs::read(&command).unwrap()));
    let counted = |module: &str, how: &str| {
        let flags = ["run", "-q", module, "--clock", "instructions", "--trace", "t.kperf", "--"];
        let ran = folder.run(&[&flags[..], &["15", "a rose", how]].concat());
        assert_eq!(ran.stdout, "610\n1 a\n1 rose\n", "{}", ran.stderr);
        let info = folder.info("t.kperf");
        assert_eq!(info["lost_events"], 0, "{info}");
        let report = folder.json(&["report", "t.kperf", "--format", "json"]);
        let functions = report["functions"].as_array().unwrap().iter();
        let counts: BTreeMap<String, u64> = functions
            .map(|f| (f["name"].as_str().unwrap().to_owned(), f["self_instructions"].as_u64().unwrap()))
            .collect();
        (ran.code, counts)
    };
    let (code, first) = counted(&command, "");
    assert_eq!(code, Some(0));
    assert_eq!(counted(&command, ""), (code, first.clone()));
    let (_, alone) = counted("module.wasm", "");
    for name in ["command::fibonacci", "command::words", "dlmalloc", "core::fmt::write"] {
        assert!(first[name] > 0, "{name}: {first:?}");
        assert_eq!(first[name], alone[name], "{name}");
    }
    let rewritten =
        folder.run(&["rewrite", &command, "--clock", "instructions", "-o", "c.wasm", "--validate"]);
    assert_eq!(rewritten.code, Some(0), "{}", rewritten.stderr);
    let (_, again) = counted("c.wasm", "");
    assert_eq!(again["command::fibonacci"], first["command::fibonacci"]);
    let other = folder.run(&["run", "c.wasm", "--clock", "ticker", "--trace", "t.kperf"]);
    assert!(other.code == Some(1) && other.stderr.contains("counts its instructions"), "{}", other.stderr);
}

/// Three tasks that compute and wait at the same time.
#[test]
fn tasks_of_wasi_0_3_run_and_what_they_wait_for_is_told_as_that() {
    let tasks = example("tasks.wasm");
    let folder = Folder::new();
    let run = |flags: &[&str], args: &[&str]| folder.run(&[&["run", &tasks], flags, &["--"], args].concat());
    let plain = run(&["--plain"], &["15"]);
    let lines = "task 1: 1220\ntask 2: 1220\ntask 3: 1220\n";
    assert_eq!((plain.code, plain.stdout.as_str()), (Some(0), lines), "{}", plain.stderr);
    let mut fibonacci = Vec::new();
    for (n, flags) in [
        &["--clock", "ticker"][..],
        &["--clock", "precise"],
        &["--clock", "instructions"],
        &["--record", "profile"],
    ]
    .iter()
    .enumerate()
    {
        let probed = run(&[flags, &["-q", "--trace", "t.kperf"][..]].concat(), &["15"]);
        assert_eq!((probed.code, probed.stdout.as_str()), (Some(0), lines), "{flags:?}: {}", probed.stderr);
        let report = folder.json(&["report", "t.kperf", "--format", "json"]);
        let functions = report["functions"].as_array().unwrap();
        let of = |name: &str| functions.iter().find(|f| f["name"].as_str().unwrap().starts_with(name));
        fibonacci.push(of("tasks::fibonacci").unwrap()["calls"].as_u64().unwrap());
        assert_eq!(of("wasi:cli/run@0.3").unwrap()["calls"], 1);
        assert!(of("[callback]wasi:cli/run@0.3").unwrap()["calls"].as_u64() > Some(2), "{flags:?}");
        if n < 2 {
            folder.calls("t.kperf");
            let wall = folder.info("t.kperf")["wall_nanos"].as_u64();
            assert!(wall > Some(50_000_000), "the longest waits for 60 ms: {wall:?}");
            let own = of("[callback]wasi:cli/run@0.3").unwrap()["total_nanos"].as_u64();
            assert!(own < Some(20_000_000), "nothing of that is the guest's own: {own:?}");
        }
    }
    assert!(fibonacci.iter().all(|calls| *calls == fibonacci[0]), "{fibonacci:?}");
    for (how, code, outcome) in [("fail", 1, "exit 1"), ("panic", 134, "trap: ")] {
        let failed = run(&["-q", "--trace", "t.kperf"], &["3", how]);
        assert_eq!(failed.code, Some(code), "{}", failed.stderr);
        let info = folder.info("t.kperf");
        assert!(info["outcome"].as_str().unwrap().starts_with(outcome), "{info}");
        assert_eq!(info["lost_events"], 0);
    }
}

/// 3 and 14 core modules, with an engine and an interpreter inside.
#[test]
#[ignore = "needs examples/components/build-large"]
fn components_from_javascript_and_python_do_as_without_probes() {
    // At least so many modules: the tools that make them change.
    for (language, modules) in [("javascript", 2), ("python", 8)] {
        let component = example(&format!("target/{language}.wasm"));
        let folder = Folder::new();
        let call = ["--invoke", "words(\"a rose is a rose\")"];
        let plain = folder.run(&[&["run", &component, "--plain"][..], &call].concat());
        let expected = "[(\"a\", 2), (\"is\", 1), (\"rose\", 2)]\n";
        let mut calls = HashSet::new();
        assert_eq!((plain.code, plain.stdout.as_str()), (Some(0), expected), "{language}: {}", plain.stderr);
        for record in [
            ["--record", "profile"],
            ["--clock", "instructions"],
            ["--clock", "ticker"],
            ["--clock", "precise"],
        ] {
            let flags = ["run", &component, "-q", "--trace", "t.kperf"];
            let probed = folder.run(&[&flags[..], &record, &call].concat());
            assert_eq!(
                (probed.code, &probed.stdout),
                (Some(0), &plain.stdout),
                "{language}: {}",
                probed.stderr
            );
            let info = folder.info("t.kperf");
            assert!(info["calls"].as_u64() > Some(1000) && info["lost_events"] == 0, "{record:?}: {info}");
            calls.insert(info["calls"].as_u64());
        }
        assert_eq!(calls.len(), 1, "{language}: {calls:?}");
        let info = folder.run(&["info", "t.kperf"]).stdout;
        // Those of the modules, and of the calls from outside.
        assert!(info.matches("\nsymbols ").count() > modules, "{info}");
        assert!(info.contains("lanes        1\n"), "{info}");
    }
}

#[test]
fn a_component_from_c_does_as_without_probes() {
    let words = example("words.wasm");
    let folder = Folder::new();
    let args = ["--", "a rose is a rose", "2"];
    let plain = folder.run(&[&["run", &words, "--plain"][..], &args].concat());
    assert_eq!((plain.code, plain.stdout.as_str()), (Some(1), "2 a\n1 is\n2 rose\n"), "{}", plain.stderr);
    let mut calls = HashSet::new();
    for record in [["--clock", "ticker"], ["--clock", "instructions"], ["--record", "profile"]] {
        let flags = ["run", &words, "-q", "--trace", "t.kperf"];
        let probed = folder.run(&[&flags[..], &record, &args].concat());
        assert_eq!((probed.code, &probed.stdout), (plain.code, &plain.stdout), "{}", probed.stderr);
        let report = folder.json(&["report", "t.kperf", "--format", "json"]);
        let functions = report["functions"].as_array().unwrap().iter();
        let mut counts: Vec<_> = functions.map(|f| format!("{} {}", f["name"], f["calls"])).collect();
        counts.sort();
        assert!(counts.iter().any(|count| count == "\"count\" 1"), "{counts:?}");
        calls.insert(counts);
    }
    assert_eq!(calls.len(), 1, "{calls:?}");
}

/// `deep` throws in one module, `catch` catches in another.
const CATCHES: &str = r#"(component
  (core module $t (tag (export "t") (param i32)))
  (core instance $t (instantiate $t))
  (core module $a (import "t" "t" (tag $t (param i32)))
    (func $deep (param i32)
      (if (i32.eqz (local.get 0)) (then (throw $t (i32.const 3))))
      (call $deep (i32.sub (local.get 0) (i32.const 1))))
    (func (export "boom") (param i32) (call $deep (local.get 0)))
    (func $ok (export "ok") (param i32) (result i32) (local.get 0)))
  (core instance $a (instantiate $a (with "t" (instance $t))))
  (core module $b (import "t" "t" (tag $t (param i32)))
    (import "a" "boom" (func $boom (param i32))) (import "a" "ok" (func $ok (param i32) (result i32)))
    (func $catch (param i32) (result i32)
      (block $h (result i32) (try_table (catch $t $h) (call $boom (local.get 0))) (unreachable)) (call $ok))
    (func (export "go") (param i32) (result i32) (local i32)
      (loop $l
        (local.set 1 (i32.add (local.get 1) (call $catch (i32.const 5))))
        (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
      (local.get 1)))
  (core instance $b (instantiate $b (with "t" (instance $t)) (with "a" (instance $a))))
  (func (export "go") (param "x" s32) (result s32) (canon lift (core func $b "go"))))"#;

#[test]
fn what_a_module_without_probes_catches_is_told() {
    let folder = Folder::new().with("catches.wat", CATCHES);
    let call = ["--invoke", "go(20)"];
    let count = |flags: &[&str]| {
        let ran = folder.run(&[&["run", "catches.wat", "-q", "--trace", "t.kperf"], flags, &call].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "60\n"), "{}", ran.stderr);
        folder.json(&["report", "t.kperf", "--format", "json"])
    };
    for filters in [&["--only", "deep", "--only", "ok"][..], &["--skip", "b::*"]] {
        let filters: Vec<&str> = filters.to_vec();
        for clock in ["ticker", "precise", "instructions"] {
            let report = count(&[&filters[..], &["--clock", clock]].concat());
            let info = folder.info("t.kperf");
            assert_eq!(
                info["cut_short"]["unfinished"].as_u64().unwrap_or(0),
                0,
                "{filters:?} {clock}: {info}"
            );
            let functions = report["functions"].as_array().unwrap();
            let deep = functions.iter().find(|f| f["name"].as_str().unwrap().ends_with("deep")).unwrap();
            assert_eq!(deep["calls"], 120);
            let tree = folder.run(&["export", "t.kperf", "--format", "folded", "-o", "-"]).stdout;
            let deepest = tree.lines().map(|line| line.matches("deep").count()).max();
            assert!(deepest <= Some(6), "{filters:?} {clock}: {tree}");
            assert!(!tree.contains("deep;ok"), "{tree}");
        }
        count(&[&filters[..], &["--record", "profile"]].concat());
        assert_eq!(folder.info("t.kperf")["cut_short"], serde_json::json!({}));
    }
}

#[test]
fn what_reports_call_a_core_function_filters_call_it_too() {
    let folder = Folder::new();
    let library = example("library.wasm");
    let only = |name: &str| {
        let flags = ["run", &library, "-q", "--clock", "test", "--only", name, "--trace", "t.kperf"];
        let ran = folder.run(&[&flags[..], &["--invoke", "demo:shop/cart#primes(20)"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        folder.calls("t.kperf").into_keys().collect::<Vec<_>>()
    };
    for name in ["main::demo:shop/cart#primes", "demo:shop/cart#primes"] {
        assert_eq!(only(name), [name]);
    }
}

#[test]
fn what_probes_can_t_do_any_more_is_refused() {
    let folder = Folder::new();
    let command = example("command.wasm");
    for (flags, name) in [(["--clock", "instructions"], "c.wasm"), (["--record", "profile"], "p.wasm")] {
        let rewritten = folder.run(&[&["rewrite", &command, "-o", name], &flags[..]].concat());
        assert_eq!(rewritten.code, Some(0), "{}", rewritten.stderr);
    }
    for (args, error) in [
        (&["c.wasm", "--clock", "instructions", "--only", "x"][..], "it has probes already"),
        (&["p.wasm", "--clock", "ticker"], "the probes make a profile"),
        (&["p.wasm", "--clock", "precise"], "the probes make a profile"),
        (&[&command, "--record", "profile", "--probe", "inline"], "--probe is for traces"),
        (&[&command, "--record", "profile", "--probe", "import"], "--probe is for traces"),
    ] {
        let ran = folder.run(&[&["run", "--trace", "t.kperf"], args].concat());
        assert!(ran.code == Some(1) && ran.stderr.contains(error), "{args:?}: {}", ran.stderr);
    }
}
