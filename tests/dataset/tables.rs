//! The tables, as engines and our own commands read them.

use super::support::{ask, ask_all, command, fails, fleet, is_same, kperf, life, output, record};
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

const QUESTIONS: [&str; 7] = [
    "SELECT name, calls, p50, p90, p99 FROM function_percentiles ORDER BY name",
    "SELECT name, version_a, version_b, runs_a, runs_b, mean_a, mean_b, change, change_from, change_to, significant FROM regressions \
     WHERE version_a = '1' AND version_b = '2' ORDER BY name",
    "SELECT stack, calls, self_nanos FROM flame ORDER BY stack",
    "SELECT name, host, runs, self_nanos, of_all_hosts, score FROM host_outliers ORDER BY name, host",
    "SELECT name, place, runs, share_faster FROM run_places ORDER BY name, place, run_id",
    "SELECT count(*), sum(calls), min(service), max(version) FROM runs",
    "SELECT count(*) FROM spans",
];

#[test]
fn engines_have_the_same_answers_before_and_after_files_are_joined() {
    let folder = fleet();
    let Some(before) = ask_all("duckdb", folder.path(), &QUESTIONS) else { return };
    assert_eq!(before[5][0][0], 12);
    assert_eq!(before[6][0][0], 36);
    assert!(!before[1].as_array().unwrap().is_empty());
    for engine in ["datafusion", "spark"] {
        let Some(answers) = ask_all(engine, folder.path(), &QUESTIONS) else { continue };
        for ((query, expected), answer) in QUESTIONS.iter().zip(&before).zip(answers) {
            assert!(is_same(&answer, expected), "{engine}: {query}\n{answer}\n{expected}");
        }
    }
    let report = kperf(folder.path(), &["report", "dataset", "--format", "csv"]);
    let told = kperf(folder.path(), &["collect", "-o", "dataset", "--compact"]);
    assert!(told.contains("12 runs joined in 1 file a table"), "{told}");
    let answers = ask_all("duckdb", folder.path(), &QUESTIONS).unwrap();
    for ((query, expected), answer) in QUESTIONS.iter().zip(&before).zip(answers) {
        assert!(is_same(&answer, expected), "{query}\n{answer}\n{expected}");
    }
    assert_eq!(kperf(folder.path(), &["report", "dataset", "--format", "csv"]), report);
    let told = kperf(folder.path(), &["collect", "a.kperf", "-o", "dataset", "--run-id", "a0"]);
    assert!(told.contains("0 runs new, 1 collected before, 12 in all"), "{told}");
}

/// Percentiles of all runs are those of all calls, to within what DATASET.md says.
#[test]
fn percentiles_are_those_of_all_calls() {
    let folder = record();
    kperf(folder.path(), &["collect", "-q", ".", "-o", "dataset", "--calls"]);
    let query = "SELECT p.name, p.p50, p.p90, p.p99, c.p50, c.p90, c.p99, p.calls, c.calls FROM function_percentiles p JOIN ( \
                 SELECT function_id, quantile_disc(duration_nanos, 0.5) AS p50, quantile_disc(duration_nanos, 0.9) AS p90, \
                 quantile_disc(duration_nanos, 0.99) AS p99, count(*) AS calls FROM calls GROUP BY function_id \
                 ) c ON p.function_id = c.function_id";
    let Some(rows) = ask("duckdb", folder.path(), query) else { return };
    let rows = rows.as_array().unwrap();
    assert!(rows.len() >= 5);
    for row in rows {
        // Rows of `calls` have rounded ends, histograms rounded lengths.
        let number = |n: usize| row[n].as_f64().unwrap();
        assert_eq!(number(7), number(8), "{row}");
        for n in 1..4 {
            let (estimate, exact) = (number(n), number(n + 3));
            assert!((estimate - exact).abs() <= exact / 128.0 + 1.0, "{row}");
        }
    }
}

#[test]
fn a_dataset_is_reported_as_its_traces_are() {
    let folder = fleet();
    let rows = |args: &[&str]| {
        let text = kperf(folder.path(), &[&["report"], args, &["--format", "csv"]].concat());
        let rows = text.lines().filter(|line| line.contains(',')).map(|line| line.to_owned());
        rows.collect::<BTreeSet<_>>()
    };
    let names = |rows: &BTreeSet<String>| rows.len();
    let one = rows(&["dataset", "--where", "name = 'a' and version = '1' and host = 'x'"]);
    let trace = rows(&["a.kperf"]);
    assert_eq!(names(&one), names(&trace));
    let flame = |path: &str, more: &[&str]| {
        kperf(folder.path(), &[&["flame", path, "--folded", "-o", "folded"], more].concat());
        let folded = fs::read_to_string(folder.path().join("folded")).unwrap();
        // Functions of one name are one in a dataset.
        let folded = regex::Regex::new(r" #\d+").unwrap().replace_all(&folded, "").into_owned();
        let mut lines: Vec<String> = folded.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let of_one = ["--where", "name = 'a' and version = '1' and host = 'x'"];
    let agree = |more: &[&str]| {
        let (a, b) = (flame("dataset", &[&of_one[..], more].concat()), flame("a.kperf", more));
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(&b) {
            let (of_a, of_b) = (a.rsplit_once(' ').unwrap(), b.rsplit_once(' ').unwrap());
            assert_eq!(of_a.0, of_b.0);
            // Each path's time is rounded to a nanosecond.
            let [a, b] = [of_a.1, of_b.1].map(|nanos| nanos.parse::<i64>().unwrap());
            assert!((a - b).abs() <= 20, "{} {a} {b}", of_a.0);
        }
    };
    agree(&[]);
    agree(&["--depth", "2"]);
    agree(&["--skip", "nLive*"]);
    let diff =
        kperf(folder.path(), &["diff", "dataset", "--where", "version = '1'", "--where", "version = '2'"]);
    assert!(diff.contains("# A: 6 runs") && diff.contains("x1.00"), "{diff}");
    for (args, told) in [
        (&["report", "dataset", "--where", "version = '3'"][..], "no run matches the condition"),
        (
            &["report", "dataset", "--where", "version = 3"][..],
            "`version` is compared with a text (at character 11)",
        ),
        (&["report", "a.kperf", "--where", "version = '3'"][..], "--where chooses runs of a dataset"),
        (&["report", "dataset", "--percentiles"][..], "--percentiles needs a trace"),
        (&["report", "dataset", "--min-time", "1ms"][..], "a dataset has sums of calls; remove --min-time"),
        (&["graph", "dataset", "-o", "x.svg", "--compensate"][..], "--compensate needs a trace"),
        (&["graph", "a.kperf", "-o", "x.svg", "--where", "version = '3'"][..], "--where chooses runs"),
        (&["view", "dataset", "--no-open", "--detail", "5"][..], "--detail needs a trace"),
        (
            &["view", "dataset", "--no-open", "--range", "1ms~2ms"][..],
            "a dataset has sums of calls; remove --range",
        ),
        (&["diff", "dataset", "a.kperf"][..], "a dataset can only be compared with a dataset"),
        (&["diff", "dataset", "--where", "version = '1'"][..], "give --where twice"),
        (&["collect", "a.kperf", "-o", "."][..], "is not a dataset, and not empty"),
        (&["collect", "a.kperf", "b.kperf", "-o", "dataset", "--run-id", "x"][..], "--run-id names one run"),
        (
            &["collect", "b.kperf", "-o", "dataset", "--run-id", "a0"][..],
            "is of the same run as `a`, which was taken",
        ),
    ] {
        let text = fails(folder.path(), args);
        assert!(text.contains(told), "{args:?}: {text}");
    }
}

#[test]
fn pictures_of_a_dataset_are_those_of_its_traces() {
    let folder = fleet();
    let one = ["--where", "name = 'a' and version = '1' and host = 'x'"];
    let graph = |args: &[&str]| {
        kperf(folder.path(), &[&["graph"], args, &["-o", "graph.mmd"]].concat());
        let text = fs::read_to_string(folder.path().join("graph.mmd")).unwrap();
        // Functions of one name are one in a dataset, and each path's time is rounded to a nanosecond: only counts are the same.
        let calls = regex::Regex::new(r"([\d,]+) calls?\b").unwrap();
        calls.captures_iter(&text).map(|found| found[1].to_owned()).collect::<BTreeSet<_>>()
    };
    let all = ["--min-share", "0", "--boxes", "1000"];
    assert_eq!(graph(&[&["dataset"][..], &one, &all].concat()), graph(&[&["a.kperf"][..], &all].concat()));
    let whole = graph(&[&["dataset"][..], &all, &["--root", "play"]].concat());
    assert!(!whole.is_empty());
    let told = kperf(folder.path(), &["view", "dataset", "--no-open"]);
    assert!(
        told.contains("dataset.html: ")
            && told.contains(", the sum of 12 runs, ")
            && told.contains("without a timeline"),
        "{told}"
    );
    let page = fs::read_to_string(folder.path().join("dataset.html")).unwrap();
    assert!(page.contains("data-section=\"flame\"") && !page.contains("data-section=\"level-0\""));
}

/// What a killed process has left doesn't count, and collecting again completes it.
#[test]
fn a_collect_that_is_killed_leaves_a_dataset() {
    let folder = record();
    for n in 0..40 {
        fs::copy(folder.path().join("a.kperf"), folder.path().join(format!("copy{n}.kperf"))).unwrap();
    }
    for n in 0..12u64 {
        let mut child = command(folder.path(), &["collect", "-q", ".", "-o", "dataset", "--span-min", "0s"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(3 * n));
        child.kill().unwrap();
        child.wait().unwrap();
        let dataset = folder.path().join("dataset");
        if dataset.join("runs").exists() {
            // The folder may be there before its first file.
            let output = output(folder.path(), &["report", "dataset"]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() || said.contains("the dataset has no runs"), "{said}");
        } else if dataset.exists() && n % 2 == 0 {
            fs::remove_dir_all(&dataset).unwrap();
        }
    }
    let told = kperf(folder.path(), &["collect", ".", "-o", "dataset"]);
    assert!(told.contains("3 in all"), "{told}");
    for n in 0..8u64 {
        let mut child =
            command(folder.path(), &["collect", "-q", "-o", "dataset", "--compact"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(2 * n));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    kperf(folder.path(), &["collect", "-o", "dataset", "--compact"]);
    let Some(rows) = ask("duckdb", folder.path(), "SELECT count(*), sum(calls) FROM runs") else { return };
    let Some(stats) = ask("duckdb", folder.path(), "SELECT count(DISTINCT run_id), sum(calls) FROM stats")
    else {
        return;
    };
    assert_eq!(rows, stats);
    assert_eq!(rows[0][0], 3);
}

/// A trace that goes on growing is one run, with what it had last.
#[test]
fn a_trace_that_grows_replaces_itself() {
    let folder = record();
    let bytes = fs::read(folder.path().join("c.kperf")).unwrap();
    let path = folder.path().join("growing.kperf");
    for part in [2, 3, 4] {
        fs::write(&path, &bytes[..bytes.len() * part / 4]).unwrap();
        kperf(folder.path(), &["collect", "growing.kperf", "-o", "dataset"]);
    }
    assert!(
        kperf(folder.path(), &["collect", "growing.kperf", "-o", "dataset"]).contains("1 collected before")
    );
    let rows = kperf(folder.path(), &["report", "dataset", "--format", "csv"]);
    let whole = kperf(folder.path(), &["report", "c.kperf", "--format", "csv"]);
    assert_eq!(rows.lines().count(), whole.lines().count());
    let Some(rows) =
        ask("duckdb", folder.path(), "SELECT count(*), max(complete), max(generation) FROM all_runs")
    else {
        return;
    };
    assert_eq!(rows.to_string(), "[[1,true,4]]");
}

/// Four processes at once take each run once.
#[test]
fn processes_side_by_side_take_each_run_once() {
    let folder = record();
    let children: Vec<_> = (0..4)
        .map(|_| command(folder.path(), &["collect", "-q", ".", "-o", "dataset"]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let Some(rows) = ask("duckdb", folder.path(), "SELECT count(*), count(DISTINCT run_id) FROM all_runs")
    else {
        return;
    };
    assert_eq!(rows.to_string(), "[[3,3]]");
}

/// A profile has its whole tree, window by window.
#[test]
fn a_profile_has_its_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let module = life("c");
    kperf(
        folder.path(),
        &["run", "-q", "--record", "profile", "--every", "50ms", "--trace", "p.kperf", &module, "400"],
    );
    kperf(folder.path(), &["collect", "-q", "p.kperf", "-o", "dataset"]);
    let query = "SELECT f.name, sum(s.calls) FROM stats s JOIN functions f ON s.function_id = f.function_id \
                 WHERE f.name = 'nLiveNeighbors' GROUP BY f.name";
    let Some(rows) = ask("duckdb", folder.path(), query) else { return };
    assert_eq!(rows.to_string(), "[[\"nLiveNeighbors\",160000]]");
    let kind = ask("duckdb", folder.path(), "SELECT kind, windows > 0 FROM runs").unwrap();
    assert_eq!(kind.to_string(), "[[\"profile\",true]]");
}
