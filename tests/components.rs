//! Components as users see them: `run`, `rewrite` and `info`.

pub(crate) mod folder;

use crate::common::command::Folder;
use folder::{example, first_module};
use std::collections::BTreeMap;
use std::fs;

#[test]
fn a_command_prints_what_it_prints_without_probes_and_calls_what_its_module_calls() {
    let command = example("command.wasm");
    let folder = Folder::new().with("module.wasm", first_module(&fs::read(&command).unwrap()));
    let args = ["--", "15", "a rose is a rose"];
    let run = |flags: &[&str]| folder.run(&[&["run"], flags, &args].concat());
    let plain = run(&[&command, "--plain"]);
    assert_eq!(
        (plain.code, plain.stdout.as_str()),
        (Some(0), "610\n2 a\n1 is\n2 rose\n"),
        "{}",
        plain.stderr
    );
    for clock in ["ticker:1ms", "precise", "test"] {
        let trace = format!("{}.kperf", &clock[..4]);
        let probed = run(&[&command, "--clock", clock, "--trace", &trace]);
        assert_eq!((probed.code, &probed.stdout), (Some(0), &plain.stdout), "{clock}: {}", probed.stderr);
        assert!(folder.calls(&trace).len() > 50);
    }
    let calls = folder.calls("test.kperf");
    assert_eq!(calls["command::fibonacci"], 987, "every other call is a loop");
    let asks = |(name, _): &(&String, &u64)| {
        name.starts_with("wasi:cli/environment@0.2.") && name.ends_with("#get-arguments")
    };
    assert_eq!(
        calls.iter().find(asks).map(|(_, count)| *count),
        Some(2),
        "the adapter asks twice: {calls:?}"
    );
    assert!(calls["wasi_snapshot_preview1::fd_write"] > 0, "{calls:?}");

    // The same module beside a host that has preview 1.
    let module = run(&["module.wasm", "--clock", "test", "--trace", "module.kperf"]);
    assert_eq!((module.code, &module.stdout), (Some(0), &plain.stdout), "{}", module.stderr);
    let mut alone = folder.calls("module.kperf");
    alone.retain(|name, _| !name.starts_with("wasi_snapshot_preview1."));
    for (name, count) in &alone {
        assert_eq!(calls.get(name), Some(count), "{name}");
    }
}

#[test]
fn a_command_that_fails_or_traps_is_told_to_its_end() {
    let command = example("command.wasm");
    let folder = Folder::new();
    let run = |how: &str| {
        let args = ["run", &command, "--clock", "test", "--trace", "t.kperf", "--", "1", "", how];
        let ran = folder.run(&args);
        (ran, folder.run(&["info", "t.kperf"]).stdout)
    };
    let (failed, info) = run("fail");
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(info.contains("outcome      exit 1"), "{info}");
    let (trapped, info) = run("panic");
    assert_eq!(trapped.code, Some(134), "{}", trapped.stderr);
    assert!(
        trapped.stderr.contains("as you wish") && trapped.stderr.contains("std::process::abort"),
        "{}",
        trapped.stderr
    );
    assert!(info.contains("outcome      trap: ") && info.contains("lost         0 events"), "{info}");
    let report = folder.run(&["report", "t.kperf"]).stdout;
    assert!(report.contains(" trap\n"), "{report}");
}

#[test]
fn filters_and_the_rewritten_component_do_as_for_modules() {
    let command = example("command.wasm");
    let folder = Folder::new();
    let only = folder.run(&["run", &command, "--only", "command::*", "--trace", "only.kperf", "--", "12"]);
    assert_eq!((only.code, only.stdout.as_str()), (Some(0), "144\n"), "{}", only.stderr);
    assert_eq!(
        folder.calls("only.kperf").keys().collect::<Vec<_>>(),
        ["command::fibonacci", "command::main", "command::words"]
    );

    let rewritten =
        folder.run(&["rewrite", &command, "-o", "probed.wasm", "--only", "command::*", "--validate"]);
    assert_eq!(rewritten.code, Some(0), "{}", rewritten.stderr);
    assert!(rewritten.stderr.contains(": 3 of "), "{}", rewritten.stderr);
    let info = folder.run(&["info", "probed.wasm"]).stdout;
    assert!(info.contains("probes       3 functions in 1 core module, ids 0 to 2"), "{info}");
    assert!(info.contains("kperf:host/recorder"), "{info}");
    let ran = folder.run(&["run", "probed.wasm", "--trace", "probed.kperf", "--", "12"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "144\n"), "{}", ran.stderr);
    assert_eq!(folder.calls("probed.kperf"), folder.calls("only.kperf"));
    let plain = folder.run(&["run", "probed.wasm", "--plain"]);
    assert!(plain.code == Some(1) && plain.stderr.contains("run the original"), "{}", plain.stderr);
    let list = folder.run(&["rewrite", &command, "--only", "command::*", "--list"]).stdout;
    assert!(
        list.contains("command/main\n") && list.contains("  func[") && list.contains("trampolines"),
        "{list}"
    );
}

#[test]
fn functions_take_and_give_values_as_text() {
    let library = example("library.wasm");
    let folder = Folder::new();
    let invoke = |call: &[&str]| {
        folder.run(&[&["run", &library, "-q", "--trace", "t.kperf", "--invoke"], call].concat())
    };
    for (call, result) in [
        (&["total([{name: \"tea\", price: 3, count: 4}], percent(50))"][..], "ok(6)\n"),
        (&["total([], percent(101))"], "err(\"101 percent off?\")\n"),
        (&["total([], %none)"], "ok(0)\n"),
        (&["total([{name: \"tea\", price: 3, count: 4}], %percent(50))"], "ok(6)\n"),
        (&["demo:shop/cart#reverse(\"grüße\")"], "\"eßürg\"\n"),
        (&["reverse", "\"ab\""], "\"ba\"\n"),
        (&["primes(20)"], "[2, 3, 5, 7, 11, 13, 17, 19]\n"),
    ] {
        let ran = invoke(call);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), result), "{call:?}: {}", ran.stderr);
        assert!(!folder.calls("t.kperf").is_empty());
    }
    assert_eq!(folder.calls("t.kperf")["library::is_prime"], 20);
    for (call, error) in [
        (&["reverse(3)"][..], "the argument `text`"),
        (&["reverse(\"a\", \"b\")"], "the function takes 1 arguments; given: 2"),
        (&["total([{name: \"tea\"}], %none)"], "the field `price` is missing"),
        (&["total([], free)"], "there is no case `free`"),
        (&["nothing()"], "exports no function `nothing`; it exports `demo:shop/cart#[constructor]basket`"),
        (&["reverse(\"a\")", "b"], "remove the others"),
    ] {
        let ran = invoke(call);
        assert!(ran.code == Some(1) && ran.stderr.contains(error), "{call:?}: {}", ran.stderr);
    }
    let ran = folder.run(&["run", &library]);
    assert!(ran.code == Some(1) && ran.stderr.contains("it exports no `wasi:cli/run`"), "{}", ran.stderr);
}

/// What WAVE lets one leave out, and cases with the names of its keywords.
#[test]
fn values_may_be_written_shorter() {
    let folder = Folder::new().with(
        "short.wat",
        r#"(component
          (core module $m
            (func (export "add") (param i32 i32 i32) (result i32)
              (i32.add (local.get 0) (i32.mul (local.get 1) (i32.add (i32.const 100) (local.get 2)))))
            (func (export "which") (param i32) (result i32) (local.get 0)))
          (core instance $i (instantiate $m))
          (type $w (enum "ok" "other"))
          (export $which "which-one" (type $w))
          (func (export "add") (param "a" u32) (param "b" (option u32)) (result u32) (canon lift (core func $i "add")))
          (func (export "which") (param "w" $which) (result $which) (canon lift (core func $i "which"))))"#,
    );
    for (call, result) in [
        ("add(1)", "1\n"),
        ("add(1, none)", "1\n"),
        ("add(1, 2)", "103\n"),
        ("add(1, some(2))", "103\n"),
        ("which(%ok)", "%ok\n"),
        ("which(other)", "other\n"),
    ] {
        let ran = folder.run(&["run", "short.wat", "--plain", "--invoke", call]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), result), "{call}: {}", ran.stderr);
    }
    for (call, error) in
        [("add()", "takes 2 arguments; given: 0"), ("add(1, 2, 3)", "given: 3"), ("which(ok)", "`w`")]
    {
        let ran = folder.run(&["run", "short.wat", "--plain", "--invoke", call]);
        assert!(ran.code == Some(1) && ran.stderr.contains(error), "{call}: {}", ran.stderr);
    }
}

/// A nested component calls another; strings go from memory to memory, so each call runs `realloc` and `post-return`.
const NESTED: &str = include_str!("components/nested.wat");

#[test]
fn nested_components_have_lanes_and_the_calls_of_all_are_balanced() {
    let folder = Folder::new().with("nested.wat", NESTED);
    let plain = folder.run(&["run", "nested.wat", "--plain", "--invoke", "lengths(3000)"]);
    assert_eq!((plain.code, plain.stdout.as_str()), (Some(0), "54000\n"), "{}", plain.stderr);
    let args = ["run", "nested.wat", "--clock", "test", "--trace", "t.kperf", "--invoke", "lengths(3000)"];
    let probed = folder.run(&args);
    assert_eq!((probed.code, &probed.stdout), (Some(0), &plain.stdout), "{}", probed.stderr);
    let calls = folder.calls("t.kperf");
    assert_eq!((calls["len"], calls["realloc"], calls["post"]), (3000, 3000, 3000), "{calls:?}");
    let info = folder.run(&["info", "t.kperf"]).stdout;
    assert!(info.contains("lanes        2\n"), "{info}");
}

#[test]
fn what_a_full_block_can_t_take_inside_of_realloc_is_counted_as_lost() {
    let folder = Folder::new().with("nested.wat", NESTED);
    // `realloc` and `post-return` make so many calls themselves, during which no block can be handed over.
    for (calls, is_lost) in [(500, false), (100_000, true)] {
        let invoke = format!("busy({calls})");
        let plain = folder.run(&["run", "nested.wat", "--plain", "--invoke", &invoke]);
        let probed =
            folder.run(&["run", "nested.wat", "--clock", "test", "--trace", "t.kperf", "--invoke", &invoke]);
        assert_eq!((probed.code, &probed.stdout), (Some(0), &plain.stdout), "{}", probed.stderr);
        let info = folder.info("t.kperf");
        let [events, lost] = ["events", "lost_events"].map(|key| info[key].as_u64().unwrap());
        assert_eq!(info["calls"], info["leaves"], "what is told is balanced");
        assert_eq!(lost > 0, is_lost, "{lost}");
        // `work` is called as often in `realloc` and in `post-return`, and none of its calls is forgotten.
        assert_eq!(events + lost, 4 * calls + 26, "{events} events, {lost} lost");
    }
}

/// The first `realloc` is so deep that not all of its functions' ends fit into the block.
#[test]
fn what_comes_after_a_loss_is_told_as_it_was() {
    let folder = Folder::new().with("deep.wat", include_str!("components/deep.wat"));
    let ran =
        folder.run(&["run", "deep.wat", "--clock", "test", "--trace", "t.kperf", "--invoke", "lengths(9)"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "162\n"), "{}", ran.stderr);
    assert!(folder.info("t.kperf")["lost_events"].as_u64().unwrap() > 0);
    let report = folder.json(&["report", "t.kperf", "--format", "json"]);
    let len = report["functions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"].as_str().unwrap().ends_with("len"));
    let len = len.expect("len was called");
    assert_eq!(len["calls"], 9);
    assert_eq!(len["callers"].to_string().matches("realloc").count(), 0, "{len}");
}

#[test]
fn flags_that_are_for_modules_are_refused() {
    let command = example("command.wasm");
    let folder = Folder::new();
    for (flags, error) in [
        (&["--record", "profile", "--stack", "native"][..], "sampling the stack of the thread"),
        (&["--record", "profile", "--clock", "instructions"], "--clock is for traces"),
        (&["--probe", "inline"], "a recorder inside the modules is not supported"),
        (&["--probe", "inline", "--clock", "instructions"], "a recorder inside the modules is not supported"),
        (&["--allocations"], "recording allocations"),
    ] {
        let ran = folder.run(&[&["run", &command], flags].concat());
        assert!(ran.code == Some(1) && ran.stderr.contains(error), "{flags:?}: {}", ran.stderr);
    }
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 0, "no trace is left");
}

/// 600 functions with a `post-return` each: guards of their own would make more instances than engines take.
#[test]
fn six_hundred_post_returns_run() {
    let posts: String =
        (0..600).map(|n| format!("(func $p{n} (export \"p{n}\") (param i32) (call $after))")).collect();
    let exports = (0..600).map(|n| {
        format!(
            "(func (export \"f{n}\") (result string) (canon lift (core func $i \"f\") (memory (core memory $i \"m\"))
               (post-return (core func $i \"p{n}\"))))"
        )
    });
    let component = format!(
        "(component (core module $m (memory (export \"m\") 1) (data (i32.const 0) \"\\10\\00\\00\\00\\02\\00\\00\\00\")
           (data (i32.const 16) \"hi\") (func $after) (func (export \"f\") (result i32) (i32.const 0)) {posts})
         (core instance $i (instantiate $m)) {})",
        exports.collect::<String>()
    );
    let folder = Folder::new().with("posts.wat", component);
    for clock in ["test", "ticker"] {
        let args = ["run", "posts.wat", "--clock", clock, "--trace", "t.kperf", "--invoke", "f599()"];
        let ran = folder.run(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "\"hi\"\n"), "{}", ran.stderr);
        let calls = folder.calls("t.kperf");
        assert_eq!((calls["f"], calls["p599"], calls["after"]), (1, 1, 1));
    }
}

/// A program's preview 1 is its adapter's, which has probes.
#[test]
fn imports_through_the_shim_are_counted_once() {
    let command = example("command.wasm");
    let folder = Folder::new();
    let args = ["run", &command, "--clock", "test", "--trace", "t.kperf", "--", "5"];
    let ran = folder.run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let calls = folder.calls("t.kperf");
    assert!(calls["wasi_snapshot_preview1::fd_write"] > 0, "{calls:?}");
    let of_host: Vec<_> = calls.keys().filter(|name| name.starts_with("wasi_snapshot_preview1.")).collect();
    assert!(of_host.is_empty(), "{of_host:?}");
}

#[test]
fn what_nobody_supplies_is_listed() {
    let folder = Folder::new().with(
        "imports.wat",
        r#"(component (import "demo:lib/log" (instance (export "line" (func))))
             (import "wasi:http/types@0.2.0" (instance)) (import "wasi:cli/stdin@0.3.0-rc-2026-01-06" (instance)))"#,
    );
    let ran = folder.run(&["run", "imports.wat"]);
    assert_eq!(ran.code, Some(1));
    let listed = "supply: `demo:lib/log`, `wasi:http/types@0.2.0`, `wasi:cli/stdin@0.3.0-rc-2026-01-06`; `run` has WASI 0.2 and 0.3";
    assert!(ran.stderr.contains(listed), "{}", ran.stderr);
}

#[test]
fn a_component_without_functions_and_one_that_is_damaged_are_described() {
    let mut broken = fs::read(example("command.wasm")).unwrap();
    broken.truncate(5000);
    let folder = Folder::new().with("broken.wasm", broken).with("empty.wat", "(component)");
    assert!(folder.run(&["info", "empty.wat"]).stdout.contains("core modules none"));
    for command in ["info", "run", "rewrite"] {
        let ran = folder.run(&[command, "broken.wasm"]);
        assert!(ran.code == Some(1) && ran.stderr.contains("offset"), "{command}: {}", ran.stderr);
    }
}

/// A call of a trace.
#[derive(Debug, PartialEq)]
struct Call {
    /// Its name and those of the calls around it, the outermost first.
    path: Vec<String>,
    nanos: u64,
}

/// The calls of a trace, in the order of their ends.
fn calls_of(folder: &Folder, trace: &str) -> Vec<Call> {
    let ran = folder.run(&["export", trace, "--format", "csv", "-o", "-"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // id,parent,lane,depth,function,"name",start_nanos,duration_nanos,self_nanos,ending
    let rows = ran.stdout.lines().skip(1).map(|line| {
        let front: Vec<&str> = line.splitn(6, ',').collect();
        let back: Vec<&str> = front[5].rsplitn(5, ',').collect();
        (front[0], (front[1], back[4].trim_matches('"').to_owned(), back[2].parse().unwrap()))
    });
    let rows: Vec<(&str, (&str, String, u64))> = rows.collect();
    let by_id: BTreeMap<&str, &(&str, String, u64)> = rows.iter().map(|(id, row)| (*id, row)).collect();
    let call = |(_, row): &(&str, (&str, String, u64))| {
        let mut path = vec![row.1.clone()];
        let mut next = by_id.get(row.0);
        while let Some(around) = next {
            path.insert(0, around.1.clone());
            next = by_id.get(around.0);
        }
        Call { path, nanos: row.2 }
    };
    rows.iter().map(call).collect()
}

#[test]
fn a_call_from_outside_lasts_until_its_result_is_lifted() {
    let library = example("library.wasm");
    let folder = Folder::new();
    let run = |more: &[&str]| {
        let args = ["run", &library, "-q", "--clock", "test", "--trace", "t.kperf"];
        let ran = folder.run(&[&args, more, &["--invoke", "demo:shop/cart#reverse(\"abc\")"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "\"cba\"\n"), "{}", ran.stderr);
        calls_of(&folder, "t.kperf")
    };
    let calls = run(&[]);
    let below: Vec<String> =
        calls.iter().filter(|call| call.path.len() == 2).map(|call| call.path.join(";")).collect();
    assert_eq!(
        below,
        [
            "_initialize;__wasm_call_ctors",
            "cabi_realloc;wit_bindgen::rt::cabi_realloc",
            "demo:shop/cart#reverse;main::demo:shop/cart#reverse",
            // The linker has found several functions to be the same.
            "demo:shop/cart#reverse;cabi_post_demo:shop/cart#[method]basket.owner",
        ],
        "the core function has another name, and what frees the result is a part of the call"
    );
    let outermost: Vec<&str> =
        calls.iter().filter(|call| call.path.len() == 1).map(|call| &*call.path[0]).collect();
    assert_eq!(outermost, ["_initialize", "cabi_realloc", "demo:shop/cart#reverse"]);

    // The host can't be asked for the time in `post-return`, where the call ends.
    let calls = run(&["--only", "demo:shop/cart#*", "--skip", "main::*"]);
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(call.path, ["demo:shop/cart#reverse"]);
    assert!(call.nanos > 0, "{call:?}");
}
