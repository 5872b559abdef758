//! Datasets in buckets.
//!
//! The program of the tests is built without S3. On request the test asks one that can, against moto, a server in Python that behaves as S3
//! does, directly and through a proxy that fails:
//!
//! ```sh
//! CARGO_TARGET_DIR=/tmp/s3 cargo build --features s3
//! python3 -m venv /tmp/moto && /tmp/moto/bin/pip install 'moto[server]'
//! KPERF_S3=/tmp/s3/debug/kperf-wasm KPERF_MOTO=/tmp/moto/bin/python cargo test --release --test main dataset::bucket -- --nocapture
//! ```

use super::server::{Faults, Moto};
use super::support::{fails, kperf, record};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_program_without_s3_says_so() {
    let folder = record();
    let commands: [&[&str]; 4] = [
        &["collect", "a.kperf", "-o", "s3://bucket/x"],
        &["report", "s3://bucket/x"],
        &["view", "s3://bucket/x", "--no-open"],
        &["diff", "s3://bucket/x", "--where", "version = 'a'", "--where", "version = 'b'"],
    ];
    for args in commands {
        let text = fails(folder.path(), args);
        assert!(
            text.contains("is built without S3: cargo build --release --features s3"),
            "{args:?}: {text}"
        );
    }
}

/// A program with S3, and where the store is.
struct Store {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
}

impl Store {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(&self.folder).stdin(Stdio::null());
        command
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port))
            .envs([
                ("AWS_ACCESS_KEY_ID", "id"),
                ("AWS_SECRET_ACCESS_KEY", "secret"),
                ("AWS_REGION", "us-east-1"),
            ])
            .env("AWS_ALLOW_HTTP", "true");
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn run(&self, args: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.output(args);
        assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap()
    }

    fn report(&self, dataset: &str) -> String {
        self.run(&["report", dataset, "--format", "csv"])
    }

    fn through(&self, port: u16) -> Store {
        Store { program: self.program.clone(), folder: self.folder.clone(), port }
    }
}

/// All of it in one test, for one server.
#[test]
fn a_bucket_is_a_dataset_as_a_folder_is() {
    let (Some(program), Some(python)) = (std::env::var_os("KPERF_S3"), std::env::var_os("KPERF_MOTO")) else {
        eprintln!("skipped: KPERF_S3 names no program with S3, or KPERF_MOTO no Python with moto");
        return;
    };
    let folder = record();
    let calls = super::support::life("c");
    kperf(folder.path(), &["run", "-q", "--record", "profile", "--trace", "p.kperf", &calls, "400"]);
    std::fs::create_dir(folder.path().join("traces")).unwrap();
    for name in ["a.kperf", "b.kperf", "c.kperf"] {
        std::fs::rename(folder.path().join(name), folder.path().join("traces").join(name)).unwrap();
    }
    let moto = Moto::start(Path::new(&python), "bucket");
    let store = Store { program: program.into(), folder: folder.path().to_owned(), port: moto.port };
    kperf(folder.path(), &["collect", "-q", "traces", "-o", "dataset"]);
    let expected = store.report("dataset");

    it_is_collected_once_and_joined(&store, &expected);
    writers_at_once_take_each_run_once(&store, &expected);
    a_writer_that_is_killed_leaves_a_dataset(&store, &expected);
    joining_that_is_killed_can_go_on(&store, &expected);
    failures_are_tried_again(&store, &expected);
    a_store_that_is_away_is_told(&store, &expected);
    what_is_long_is_put_in_parts(&store, &calls);
}

fn it_is_collected_once_and_joined(store: &Store, expected: &str) {
    let told = store.run(&["collect", "traces", "-o", "s3://bucket/fleet"]);
    assert!(told.contains("3 runs new, 3 in all"), "{told}");
    assert!(
        store
            .run(&["collect", "traces", "-o", "s3://bucket/fleet/"])
            .contains("3 collected before, 3 in all")
    );
    assert_eq!(store.report("s3://bucket/fleet"), expected);
    let told = store.run(&["collect", "-o", "s3://bucket/fleet", "--compact"]);
    assert!(told.contains("3 runs joined in 1 file a table"), "{told}");
    assert_eq!(store.report("s3://bucket/fleet"), expected);
    assert!(store.run(&["collect", "traces", "-o", "s3://bucket/fleet"]).contains("3 collected before"));
    // The other commands read it too, and another kind of run can stand beside.
    store.run(&["collect", "-q", "p.kperf", "-o", "s3://bucket/fleet", "--service-name", "it's a/b"]);
    let one =
        store.run(&["report", "s3://bucket/fleet", "--where", "service = 'it''s a/b'", "--format", "csv"]);
    assert!(one.contains("nLiveNeighbors,160000,"), "{one}");
    let flame = |dataset: &str| {
        store.run(&["flame", dataset, "--where", "kind = 'events'", "--folded", "-o", "folded"]);
        std::fs::read_to_string(store.folder.join("folded")).unwrap()
    };
    assert_eq!(flame("s3://bucket/fleet"), flame("dataset"));
    store.run(&["view", "s3://bucket/fleet", "--where", "kind = 'events'", "--no-open", "-o", "fleet.html"]);
    let diff = store.run(&[
        "diff",
        "s3://bucket/fleet",
        "--where",
        "name = 'a'",
        "--where",
        "name = 'b'",
        "--limit",
        "3",
    ]);
    assert!(diff.contains("# A: 1 run"), "{diff}");
    let sql = store.run(&["collect", "-q", "-o", "s3://bucket/fleet", "--sql"]);
    assert!(sql.contains("read_parquet('s3://bucket/fleet/runs/*/*/*.parquet'"), "{sql}");
}

fn writers_at_once_take_each_run_once(store: &Store, expected: &str) {
    let dataset = "s3://bucket/together";
    let children: Vec<_> =
        (0..4).map(|_| store.command(&["collect", "-q", "traces", "-o", dataset]).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(store.report(dataset), expected);
    assert!(store.run(&["collect", "traces", "-o", dataset]).contains("3 collected before, 3 in all"));
}

fn a_writer_that_is_killed_leaves_a_dataset(store: &Store, expected: &str) {
    let dataset = "s3://bucket/killed";
    for n in 0..10u64 {
        let mut child = store.command(&["collect", "-q", "traces", "-o", dataset]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(40 * n));
        child.kill().unwrap();
        child.wait().unwrap();
        let Output { status, stderr, .. } = store.output(&["report", dataset]);
        let said = String::from_utf8_lossy(&stderr);
        let is_empty = said.contains("is not a dataset") || said.contains("the dataset has no runs");
        assert!(status.success() || is_empty, "{said}");
    }
    assert!(store.run(&["collect", "traces", "-o", dataset]).contains("3 in all"));
    assert_eq!(store.report(dataset), expected);
}

fn joining_that_is_killed_can_go_on(store: &Store, expected: &str) {
    let dataset = "s3://bucket/killed";
    let mut was_locked = false;
    for n in 0..8u64 {
        let mut child = store.command(&["collect", "-q", "-o", dataset, "--compact"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(60 + 60 * n));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(store.report(dataset), expected);
        let Output { status, stderr, .. } = store.output(&["collect", "-o", dataset, "--compact"]);
        if !status.success() {
            let said = String::from_utf8(stderr).unwrap();
            assert!(
                said.contains("if none does, one was killed, and `s3://bucket/killed/.lock` can be deleted"),
                "{said}"
            );
            Moto::ask(store.port, "DELETE", "/bucket/killed/.lock");
            was_locked = true;
        }
    }
    assert!(was_locked, "it was never killed while it joined");
    store.run(&["collect", "-o", dataset, "--compact"]);
    assert_eq!(store.report(dataset), expected);
}

/// Answers with errors, connections that are cut in the middle of a body or of an answer, and slow ones.
fn failures_are_tried_again(store: &Store, expected: &str) {
    for (faults, dataset) in [
        (Faults::Errors, "s3://bucket/errors"),
        (Faults::CutUploads, "s3://bucket/uploads"),
        (Faults::CutAnswers, "s3://bucket/answers"),
        (Faults::Slow, "s3://bucket/slow"),
    ] {
        let proxy = faults.before(store.port);
        let through = store.through(proxy.port);
        let told = through.run(&["collect", "traces", "-o", dataset]);
        assert!(told.contains("3 runs new, 3 in all"), "{told}");
        assert_eq!(through.report(dataset), expected, "{faults:?}");
        assert!(proxy.faults() >= 3, "{faults:?}: {}", proxy.faults());
        // The lock is put once: if its answer is cut, nobody knows whose it is.
        let joins = if faults == Faults::CutAnswers { store } else { &through };
        joins.run(&["collect", "-o", dataset, "--compact"]);
        assert_eq!(store.report(dataset), expected, "{faults:?}");
    }
}

fn a_store_that_is_away_is_told(store: &Store, expected: &str) {
    let dataset = "s3://bucket/away";
    for faults in [Faults::Always, Faults::NoBody] {
        let proxy = faults.before(store.port);
        let begun = Instant::now();
        let Output { status, stderr, .. } =
            store.through(proxy.port).output(&["collect", "traces", "-o", dataset]);
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(said.contains("failed to read `s3://bucket/away/kperf-dataset.json`"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
    }
    store.run(&["collect", "-q", "traces", "-o", dataset]);
    assert_eq!(store.report(dataset), expected);
    let said = String::from_utf8(store.output(&["report", "s3://nobucket/x"]).stderr).unwrap();
    assert!(said.contains("is not a dataset") || said.contains("failed to read"), "{said}");
}

/// Longer than a part: the table of all calls.
fn what_is_long_is_put_in_parts(store: &Store, module: &str) {
    kperf(&store.folder, &["run", "-q", "--clock", "precise", "--trace", "long.kperf", module, "300"]);
    for faults in [None, Some(Faults::CutUploads)] {
        let proxy = faults.map(|faults| faults.before(store.port));
        let through = store.through(proxy.as_ref().map_or(store.port, |proxy| proxy.port));
        let dataset = format!("s3://bucket/long-{}", u8::from(faults.is_some()));
        through.run(&["collect", "-q", "long.kperf", "-o", &dataset, "--calls"]);
        store.run(&["collect", "-q", "long.kperf", "-o", "long", "--calls"]);
        let local =
            std::fs::read_dir(store.folder.join("long/calls/service=life")).unwrap().next().unwrap().unwrap();
        let local = std::fs::read_dir(local.path()).unwrap().next().unwrap().unwrap().path();
        let day = local.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let name = local.file_name().unwrap().to_str().unwrap();
        let key = format!(
            "/bucket/{}/calls/service%3Dlife/{}/{name}",
            &dataset["s3://bucket/".len()..],
            day.replace('=', "%3D")
        );
        let bytes = Moto::ask(store.port, "GET", &key);
        let expected = std::fs::read(&local).unwrap();
        assert!(expected.len() > 9 << 20, "{} bytes are one part", expected.len());
        assert!(bytes == expected, "{} bytes, not {}", bytes.len(), expected.len());
    }
}
