//! Datasets that were copied in part, runs that are taken again, and paths and names that are odd.

use super::support::{ask, ask_all, fails, kperf, life, record};
use std::fs;
use std::path::Path;

/// Calls of a function, by a report.
fn calls(folder: &Path, of: &str, function: &str) -> u64 {
    let report = kperf(folder, &["report", of, "--format", "csv"]);
    let row = report.lines().find(|line| line.contains(&format!(",{function},"))).unwrap();
    row.split(',').nth(2).unwrap().parse().unwrap()
}

/// Rows that a copy has lost are an error, not smaller sums; and collecting the trace again brings those of a run back.
#[test]
fn lost_rows_are_told_and_come_back() {
    for table in ["stats", "paths"] {
        let folder = record();
        let path = folder.path();
        kperf(path, &["collect", "-q", "a.kperf", "-o", "dataset"]);
        kperf(path, &["report", "dataset"]);
        fs::remove_dir_all(path.join("dataset").join(table)).unwrap();
        let told = fails(path, &["report", "dataset"]);
        assert!(told.contains("rows of the run `a` are missing"), "{table}: {told}");
        let told = kperf(path, &["collect", "a.kperf", "-o", "dataset"]);
        if table == "stats" {
            assert!(told.contains("1 grown"), "{told}");
            assert_eq!(calls(path, "dataset", "isValidPosition"), 16_000);
        }
        // What the message says helps in any case.
        fs::remove_dir_all(path.join("dataset/runs")).unwrap();
        kperf(path, &["collect", "-q", "a.kperf", "-o", "dataset"]);
        assert_eq!(calls(path, "dataset", "isValidPosition"), 16_000);
    }
}

/// A trace without a header could be of any run; one that is damaged elsewhere is told in reports of the dataset too.
#[test]
fn damaged_traces_are_told() {
    let folder = record();
    let path = folder.path();
    let mut bytes = fs::read(path.join("c.kperf")).unwrap();
    bytes[60] ^= 0x55;
    fs::write(path.join("d.kperf"), &bytes).unwrap();
    let told = fails(path, &["collect", "d.kperf", "-o", "dataset"]);
    assert!(told.contains("its header can't be read"), "{told}");
    bytes[60] ^= 0x55;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path.join("e.kperf"), &bytes).unwrap();
    kperf(path, &["collect", "-q", "e.kperf", "-o", "dataset"]);
    let told = kperf(path, &["report", "dataset"]);
    assert!(told.contains("1 of the runs have traces that are damaged"), "{told}");
    kperf(path, &["collect", "-q", "a.kperf", "-o", "fine"]);
    assert!(!kperf(path, &["report", "fine"]).contains("damaged"));
}

/// The table `calls` follows its run: when that grows, and when somebody wants it later.
#[test]
fn calls_are_those_of_the_whole_run() {
    let folder = record();
    let path = folder.path();
    let bytes = fs::read(path.join("c.kperf")).unwrap();
    fs::create_dir(path.join("growing")).unwrap();
    let growing = path.join("growing/c.kperf");
    fs::write(&growing, &bytes[..bytes.len() / 2]).unwrap();
    kperf(path, &["collect", "-q", "growing", "-o", "dataset", "--calls"]);
    fs::write(&growing, &bytes).unwrap();
    kperf(path, &["collect", "-q", "growing", "-o", "dataset"]);
    kperf(path, &["collect", "-q", "a.kperf", "-o", "dataset"]);
    let told = kperf(path, &["collect", "a.kperf", "-o", "dataset", "--calls"]);
    assert!(told.contains("1 grown"), "{told}");
    assert!(kperf(path, &["collect", "a.kperf", "-o", "dataset", "--calls"]).contains("1 collected before"));
    let query = "SELECT r.name, r.calls, count(*) FROM runs r JOIN calls c ON c.run_id = r.run_id GROUP BY ALL ORDER BY ALL";
    let Some(rows) = ask("duckdb", path, query) else { return };
    for row in rows.as_array().unwrap() {
        assert_eq!(row[1], row[2], "{rows}");
    }
    assert_eq!(rows.as_array().unwrap().len(), 2);
}

/// A call has one duration in all tables.
#[test]
fn a_call_lasts_as_long_in_each_table() {
    let folder = record();
    let path = folder.path();
    kperf(
        path,
        &[
            "collect",
            "-q",
            "a.kperf",
            "-o",
            "dataset",
            "--calls",
            "--span-min",
            "0s",
            "--max-spans",
            "100000",
        ],
    );
    let queries = [
        "SELECT function_id, duration_nanos, count(*) FROM spans GROUP BY ALL ORDER BY ALL",
        "SELECT function_id, duration_nanos, count(*) FROM calls GROUP BY ALL ORDER BY ALL",
    ];
    let Some(answers) = ask_all("duckdb", path, &queries) else { return };
    assert!(answers[0].as_array().unwrap().len() > 100);
    assert_eq!(answers[0], answers[1]);
}

/// A name that somebody gives stands for one run, also where another one's trace is as long.
#[test]
fn another_run_of_a_name_is_refused() {
    let folder = record();
    let path = folder.path();
    let traces = ["a.kperf", "b.kperf"].map(|name| path.join(name));
    let longest = traces.iter().map(|trace| trace.metadata().unwrap().len()).max().unwrap();
    for trace in &traces {
        // What stands behind the end of a trace is no part of it.
        fs::OpenOptions::new().write(true).open(trace).unwrap().set_len(longest).unwrap();
    }
    kperf(path, &["collect", "-q", "a.kperf", "-o", "dataset", "--run-id", "x"]);
    let told = kperf(path, &["collect", "a.kperf", "-o", "dataset", "--run-id", "x"]);
    assert!(told.contains("1 collected before"), "{told}");
    let told = fails(path, &["collect", "b.kperf", "-o", "dataset", "--run-id", "x"]);
    assert!(told.contains("is of the same run as `a`"), "{told}");
}

/// A trace that ends while it is read is whole, and the next `collect` finds nothing new in it.
#[test]
fn a_trace_that_ends_while_it_is_read_is_taken_once() {
    use kperf_dataset::{Added, Adder, Options, Store, Trace};
    use kperf_trace::TraceReader;
    let folder = record();
    let path = folder.path().join("a.kperf");
    let bytes = fs::read(&path).unwrap();
    let store = Store::open_or_create(&folder.path().join("dataset")).unwrap();
    let mut adder = Adder::new(&store, Options::default()).unwrap();
    // So long was it when it was looked at.
    let trace = Trace { shown: "a.kperf", name: "a", length: Some(bytes.len() as u64 / 2) };
    let outcome = adder.add(trace, || Ok(TraceReader::new(&bytes[..]).unwrap()), |_| ()).unwrap();
    assert_eq!(outcome.added, Added::New);
    for _ in 0..2 {
        let mut adder = Adder::new(&store, Options::default()).unwrap();
        assert_eq!(adder.add_file(&path).unwrap().added, Added::Before);
    }
}

/// Who reads while files are joined has all runs of one moment.
#[test]
fn reports_beside_a_compaction_are_whole() {
    let folder = record();
    let path = folder.path();
    kperf(path, &["collect", "-q", "a.kperf", "-o", "dataset"]);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(6);
    let writer = {
        let path = path.to_owned();
        std::thread::spawn(move || {
            for n in 0.. {
                if std::time::Instant::now() > until {
                    break;
                }
                let run = n.to_string();
                kperf(&path, &["collect", "-q", "a.kperf", "-o", "dataset", "--run-id", &run]);
                if n % 3 == 2 {
                    kperf(&path, &["collect", "-q", "-o", "dataset", "--compact"]);
                }
            }
        })
    };
    while std::time::Instant::now() < until {
        let calls = calls(path, "dataset", "isValidPosition");
        assert!(calls >= 16_000 && calls.is_multiple_of(16_000), "{calls}");
    }
    writer.join().unwrap();
}

/// Functions are in their modules.
#[test]
fn modules_of_a_dataset_are_those_of_its_runs() {
    let folder = record();
    let path = folder.path();
    fs::copy(life("go"), path.join("other.wasm")).unwrap();
    kperf(path, &["run", "-q", "--clock", "precise", "--trace", "o.kperf", "other.wasm", "1"]);
    kperf(path, &["collect", "-q", "a.kperf", "o.kperf", "-o", "dataset"]);
    let rows = |of: &str| {
        let report = kperf(path, &["report", of, "--by", "module", "--format", "csv"]);
        let names = report.lines().skip(1).filter(|line| !line.starts_with("warning"));
        let of_name =
            |line: &str| line.split(',').find(|cell| *cell == "life" || *cell == "other").map(str::to_owned);
        names.filter_map(of_name).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(rows("dataset").len(), 2);
    let whole = kperf(path, &["report", "dataset", "--format", "csv"]);
    for name in ["isValidPosition", "main.isValidPosition"] {
        assert!(whole.contains(&format!(",{name},")), "{whole}");
    }
}

/// Letters that are a pattern to DuckDB are letters of a folder's name.
#[test]
fn a_folder_s_name_is_no_pattern() {
    let folder = record();
    let path = folder.path();
    for (trace, name) in [("a.kperf", "q*x"), ("b.kperf", "qax"), ("c.kperf", "b[1]?'s")] {
        let inner = path.join(name);
        fs::create_dir(&inner).unwrap();
        fs::copy(path.join(trace), inner.join(trace)).unwrap();
        kperf(&inner, &["collect", "-q", trace, "-o", "dataset"]);
        let Some(rows) = ask("duckdb", &inner, "SELECT name FROM runs") else { return };
        assert_eq!(rows[0][0], trace.trim_end_matches(".kperf"));
        assert_eq!(rows.as_array().unwrap().len(), 1, "{name}: {rows}");
    }
}

/// Names of services that take three letters a byte in a folder's name.
#[test]
fn a_long_name_of_a_service_is_cut() {
    let folder = record();
    let path = folder.path();
    for (n, name) in ["漢".repeat(40), " ".repeat(119) + "x", "é".repeat(60)].iter().enumerate() {
        let run = n.to_string();
        kperf(path, &["collect", "-q", "a.kperf", "-o", "dataset", "--run-id", &run, "--service-name", name]);
    }
    assert_eq!(calls(path, "dataset", "isValidPosition"), 3 * 16_000);
}

/// Profiles in a dataset have the times of samples, and no shortest and longest call.
#[test]
fn a_dataset_of_profiles_says_that_it_has_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let module = life("c");
    for trace in ["a.kperf", "b.kperf"] {
        kperf(
            path,
            &["run", "-q", "--record", "profile", "--every", "20ms", "--trace", trace, &module, "3000"],
        );
        kperf(path, &["collect", "-q", trace, "-o", "dataset"]);
    }
    let table = kperf(path, &["report", "dataset"]);
    assert!(
        table.contains("# times: ") && table.contains("times, and counts by caller, are sampled"),
        "{table}"
    );
    assert!(table.contains(" ± ") && !table.contains("precise"), "{table}");
    let csv = kperf(path, &["report", "dataset", "--format", "csv"]);
    // As of a trace: the mean stands in the place of both.
    let row = csv.lines().find(|line| line.contains(",shouldBecomeLive,")).unwrap();
    let cells: Vec<&str> = row.split(',').collect();
    let titles: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let cell = |title: &str| cells[titles.iter().position(|other| *other == title).unwrap()];
    assert_eq!(cell("min_nanos"), cell("max_nanos"), "{csv}");
    // Calls of a run in which no sample saw them are not the shortest, whatever is filtered.
    kperf(path, &["run", "-q", "--record", "profile", "--every", "20ms", "--trace", "c.kperf", &module, "1"]);
    kperf(path, &["collect", "-q", "c.kperf", "-o", "three"]);
    kperf(path, &["collect", "-q", "a.kperf", "-o", "three"]);
    for filter in [&[][..], &["--only", "shouldBecomeLive"]] {
        let csv = kperf(path, &[&["report", "three", "--format", "csv"], filter].concat());
        let row = csv.lines().find(|line| line.contains(",shouldBecomeLive,")).unwrap();
        let min = titles.iter().position(|title| *title == "min_nanos").unwrap();
        assert_ne!(row.split(',').nth(min), Some("0"), "{csv}");
    }
    // What no sample saw has no depth.
    let outer = |of: &str| {
        kperf(path, &["report", of, "--depth", "2", "--format", "csv"])
            .lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
            .count()
    };
    assert_eq!(outer("dataset"), outer("a.kperf"));
    for args in [
        &["flame", "dataset", "-o", "a.svg"][..],
        &["graph", "dataset", "-o", "a.mmd"][..],
        &["view", "dataset", "--no-open", "-o", "a.html"][..],
        &["diff", "dataset", "--where", "name = 'a'", "--where", "name = 'b'"][..],
    ] {
        kperf(path, args);
    }
}

/// What was no dataset, and why.
#[test]
fn errors_say_what_to_do() {
    let folder = record();
    let path = folder.path();
    fs::write(path.join("file"), "").unwrap();
    let told = fails(path, &["collect", "a.kperf", "-o", "file"]);
    assert!(told.contains("`file` is a file; name a folder"), "{told}");
    let told = fails(path, &["collect", "a.kperf", "-o", "-"]);
    assert!(told.contains("a dataset is a folder"), "{told}");
    assert!(!path.join("-").exists());
    let told = fails(path, &["collect", "a.kperf", "-o", "s3://bucket/x"]);
    assert!(told.contains("`s3://bucket/x` is not a folder; collect into a folder and copy it"), "{told}");
    fs::create_dir(path.join("traces")).unwrap();
    for command in ["report", "info"] {
        let told = fails(path, &[command, "traces"]);
        assert!(
            told.contains("`traces` is a folder; name a trace in it, or `kperf-wasm collect traces"),
            "{told}"
        );
    }
    kperf(path, &["collect", "-q", "a.kperf", "-o", "dataset"]);
    for entry in fs::read_dir(path.join("dataset/runs/service=life")).unwrap() {
        fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    let told = fails(path, &["report", "dataset"]);
    assert!(told.contains("the dataset has no runs"), "{told}");
}

/// A damaged file costs the runs that need it, and `--repair` makes room for them to be collected again.
#[test]
fn a_damaged_file_is_left_out_and_taken_out() {
    let folder = record();
    let path = folder.path();
    let collect = |dataset: &str, more: &[&str]| {
        kperf(path, &[&["collect", "-o", dataset], more].concat());
    };
    collect("apart", &["a.kperf", "b.kperf", "c.kperf", "--span-min", "0s"]);
    collect("joined", &["a.kperf", "b.kperf", "c.kperf", "--span-min", "0s", "--compact"]);
    let whole = calls(path, "apart", "isValidPosition");
    type Damage = fn(&mut Vec<u8>);
    let kinds: [Damage; 3] = [
        Vec::clear,
        |bytes| bytes.truncate(300),
        |bytes| bytes.iter_mut().skip(50).take(400).for_each(|b| *b = 0),
    ];
    for (dataset, tables) in
        [("apart", &["runs", "stats", "paths", "functions", "spans"][..]), ("joined", &["stats", "spans"])]
    {
        for (table, damage) in tables.iter().flat_map(|table| kinds.map(|damage| (table, damage))) {
            let _ = fs::remove_dir_all(path.join("damaged"));
            copy(&path.join(dataset), &path.join("damaged"));
            let file = first_file(&path.join("damaged").join(table));
            let mut bytes = fs::read(&file).unwrap();
            damage(&mut bytes);
            fs::write(&file, bytes).unwrap();
            let lost_all = dataset == "joined" || ["paths", "functions"].contains(table);
            if *table == "spans" {
                // Reports don't read it.
                assert_eq!(calls(path, "damaged", "isValidPosition"), whole);
            } else if !lost_all {
                let told = kperf(path, &["report", "damaged"]);
                assert!(told.contains("is damaged") && told.contains("--repair"), "{table}: {told}");
                let left = calls(path, "damaged", "isValidPosition");
                assert!(left > 0 && left < whole, "{table}: {left} of {whole}");
            }
            let told = kperf(path, &["collect", "-o", "damaged", "--repair"]);
            assert!(told.contains("took out 1 damaged file"), "{table}: {told}");
            assert!(!file.exists());
            assert!(
                kperf(path, &["collect", "-o", "damaged", "--repair"]).contains("took out 0 damaged files")
            );
            collect("damaged", &["a.kperf", "b.kperf", "c.kperf", "--span-min", "0s", "--compact"]);
            assert_eq!(calls(path, "damaged", "isValidPosition"), whole, "{dataset} {table}");
            assert!(!kperf(path, &["report", "damaged"]).contains("damaged:"));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The first file in a folder, by name, recursively.
fn first_file(folder: &Path) -> std::path::PathBuf {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    if entries[0].is_dir() { first_file(&entries[0]) } else { entries[0].clone() }
}
