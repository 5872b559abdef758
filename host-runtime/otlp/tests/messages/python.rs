//! What is written is read by somebody else: the official messages for Python.
//!
//! `BLESS=1` writes what they say into `tests/decoded.json`: read the diff. Without Python or its packages the test says
//! so and is skipped.

use crate::common::{Names, block};
use kperf_abi::block::BlockHeader;
use kperf_otlp::{ProfileOptions, Roots, SpanOptions, Spans, TraceContext, json, profiles};
use kperf_profile::Profile;
use kperf_trace::{
    Anchor, CallParent, ClockInfo, ClockKind, Header, HostInfo, Summary, TraceReader, TraceWriter,
};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version whose messages are asked.
const PACKAGE: &str = "opentelemetry-proto==1.45.2";
const DECODED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/decoded.json");

/// A trace that has something of everything.
fn trace() -> Vec<u8> {
    let header = Header {
        clock: ClockInfo {
            kind: ClockKind::Ticker,
            source: "tsc".into(),
            ticks_per_second: 2.5e9,
            resolution_nanos: 2000.0,
            period_nanos: Some(2000),
            no_ticker: None,
        },
        anchor: Anchor { ticks: 1000, unix_nanos: 1_700_000_000_123_456_789 },
        host: HostInfo {
            name: "wasmtime".into(),
            version: "48".into(),
            os: "linux".into(),
            arch: "x86_64".into(),
            pid: 4711,
        },
        command: vec!["kperf-wasm".into(), "run".into(), "life.wasm".into()],
        ..Header::default()
    };
    let context = TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03", "vendor=7");
    let mut names = Names::default();
    let main = "main{ 500 step{ 1000 } step{ 2000 cell{ 100 } 300 caught>2 } 30 quick{ } 70 }";
    let ended = "main{ 10 step{ 40 trap>0 50 main{ 25 step{ 25 exit>0";
    let at = |stack, start_ticks| BlockHeader { stack, depth: 0, start_ticks };
    let blocks = [
        block(&mut names, at(0, 1000), main),
        block(&mut names, at(3, 1500), "überall{ 75 }"),
        block(&mut names, at(0, 9000), ended),
    ];
    let mut table = names.table();
    table.module.name = "life".into();
    table.module.sha256 = "ab".repeat(32);
    // The last function is another module's.
    let mut other = table.clone();
    other.symbols = table.symbols.split_off(4);
    other.id_base = 5;
    other.module.name = "other".into();
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, &header).unwrap();
    writer.symbols(&table.to_bytes()).unwrap();
    writer.symbols(&other.to_bytes()).unwrap();
    writer.block(0, &blocks[0]).unwrap();
    let parent = CallParent { recorder: 1, stack: Some(3), context: Some(context.unwrap()) };
    writer.parent(&parent).unwrap();
    writer.block(1, &blocks[1]).unwrap();
    writer.block(0, &blocks[2]).unwrap();
    writer.finish(&Summary { outcome: "exit 3".into(), end_ticks: 12_000, ..Summary::default() }).unwrap();
    file
}

fn options(roots: Roots) -> SpanOptions {
    SpanOptions {
        roots,
        seed: Some(1),
        min_nanos: if roots == Roots::PerRun { 30 } else { 0 },
        metrics: true,
        ..SpanOptions::default()
    }
}

/// Writes the messages for the script.
fn write(folder: &Path) {
    let file = trace();
    for (name, roots) in [("calls", Roots::PerCall), ("run", Roots::PerRun)] {
        let mut spans = Spans::new(TraceReader::new(&file[..]).unwrap(), options(roots));
        let request = spans.next().unwrap().unwrap();
        assert_eq!(spans.next().unwrap(), None);
        fs::write(folder.join(name).with_extension("pb"), &request.body).unwrap();
        fs::write(folder.join(name).with_extension("json"), json::traces(&request.body).unwrap()).unwrap();
        let metrics = spans.metrics();
        assert_eq!(metrics.len(), 1);
        fs::write(folder.join("metrics.pb"), &metrics[0].body).unwrap();
        fs::write(folder.join("metrics.json"), json::metrics(&metrics[0].body).unwrap()).unwrap();
    }
    let reader = TraceReader::new(&file[..]).unwrap();
    let profile = Profile::read_linked(reader, None, |_| ()).unwrap();
    let parent = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "").unwrap();
    let options = ProfileOptions { seed: Some(1), parent: Some(parent), ..ProfileOptions::default() };
    let mut requests = Vec::new();
    profiles(&profile, &options, |request| {
        requests.push(request);
        Ok::<_, ()>(())
    })
    .unwrap();
    assert_eq!(requests.len(), 1);
    fs::write(folder.join("profiles.pb"), &requests[0].body).unwrap();
    fs::write(folder.join("profiles.json"), json::profiles(&requests[0].body).unwrap()).unwrap();
}

/// A folder in the build's own that other runs of this test don't have.
fn own_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

/// A Python with the package, made in the build's own folder; or why there is none.
fn python() -> Result<PathBuf, String> {
    let ready = Path::new(env!("CARGO_TARGET_TMPDIR")).join(PACKAGE);
    let python = ready.join("bin/python");
    if ready.exists() {
        return Ok(python);
    }
    let folder = own_folder("otlp-python");
    let run = |program: &Path, args: &[&str]| match Command::new(program).args(args).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(format!("`{}` failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => Err(format!("{}: {error}", program.display())),
    };
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    let made = run(Path::new("python3"), &["-m", "venv", "--clear", folder.to_str().unwrap()])
        .and_then(|()| run(&folder.join("bin/python"), &pip))
        .and_then(|()| fs::rename(&folder, &ready).map_err(|error| error.to_string()));
    // It is still there if something failed, or if another run of this test was faster.
    let _ = fs::remove_dir_all(&folder);
    if ready.exists() { Ok(python) } else { made.map(|()| python) }
}

#[test]
fn the_official_messages_for_python_read_the_same() {
    let python = match python() {
        Ok(python) => python,
        Err(reason) => {
            // Past the test harness, which shows what a test prints only if it fails.
            writeln!(io::stderr(), "skipped: no Python with {PACKAGE}: {reason}").unwrap();
            return;
        }
    };
    let folder = own_folder("otlp-messages");
    fs::create_dir_all(&folder).unwrap();
    write(&folder);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/decode.py");
    let output = Command::new(python).arg(script).arg(&folder).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let decoded = String::from_utf8(output.stdout).unwrap().replace(env!("CARGO_PKG_VERSION"), "X");
    if std::env::var_os("BLESS").is_some() {
        fs::write(DECODED, &decoded).unwrap();
    }
    let expected = fs::read_to_string(DECODED).unwrap();
    assert!(decoded == expected, "tests/decoded.json is another; BLESS=1 renews it:\n{decoded}");
}
