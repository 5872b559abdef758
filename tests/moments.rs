//! Moments are told and chosen from when the first lane began, wherever the trace has it.

use crate::common::command::command;
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{FuncId, Symbol, SymbolTable};
use kperf_trace::block::BlockHeader;
use kperf_trace::{Header, Summary, TraceWriter, word};
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// A trace whose second lane began first: `late` was open from 5 to 6 us, `early` from 1 to 3 us and from 4 to 5.5 us.
fn trace() -> Vec<u8> {
    let symbol = |id, name: &str| Symbol { id: FuncId(id), name: name.into(), ..Symbol::default() };
    let symbols = vec![symbol(0, "early"), symbol(1, "late")];
    let module = ModuleIdentity { name: "module".into(), ..ModuleIdentity::default() };
    let table = SymbolTable { module, symbols, ..SymbolTable::default() };
    let mut trace = TraceWriter::new(Vec::new(), &Header::default()).unwrap();
    trace.symbols(&table.to_bytes()).unwrap();
    let mut block = |recorder, start_ticks, words: &[u32]| {
        let mut block = BlockHeader { start_ticks, ..BlockHeader::default() }.to_bytes().to_vec();
        words.iter().for_each(|word| block.extend(word.to_le_bytes()));
        trace.block(recorder, &block).unwrap();
    };
    let after = |nanos| word::TIME | nanos;
    block(1, 5_000, &[1, after(1_000), word::LEAVE]);
    block(0, 1_000, &[0, after(2_000), word::LEAVE, after(1_000), 0, after(1_500), word::LEAVE]);
    trace.finish(&Summary { outcome: "completed".into(), end_ticks: 6_000, ..Summary::default() }).unwrap()
}

/// What the command prints of the trace, which it reads from a file or from a pipe.
fn printed(is_piped: bool, args: &[&str]) -> String {
    let folder = tempfile::TempDir::new().unwrap();
    fs::write(folder.path().join("lanes.kperf"), trace()).unwrap();
    let args =
        args.iter().map(|&arg| if arg == "TRACE" { if is_piped { "-" } else { "lanes.kperf" } } else { arg });
    let args: Vec<_> = args.collect();
    let mut command = command(&folder, &args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // A command that reads the file leaves its input alone.
    let _ = child.stdin.take().unwrap().write_all(&trace());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rows of a table whose names have no commas: of each its name, and what `column` says.
fn rows(csv: &str, column: &str) -> Vec<(String, String)> {
    let mut rows =
        csv.lines().map(|line| line.split(',').map(|cell| cell.trim_matches('"')).collect::<Vec<_>>());
    let names = rows.next().unwrap();
    let place = |name: &str| names.iter().position(|&other| other == name).unwrap();
    let (name, column) = (place("name"), place(column));
    let mut rows: Vec<_> = rows.map(|row| (row[name].to_owned(), row[column].to_owned())).collect();
    rows.sort();
    rows
}

#[test]
fn a_range_counts_from_the_first_lane() {
    for is_piped in [false, true] {
        let report = |range| {
            rows(&printed(is_piped, &["report", "TRACE", "--range", range, "--format", "csv"]), "self_nanos")
        };
        assert_eq!(report("0~2us"), [("early".into(), "2000".into())]);
        // Of the first lane's second call, and of the other lane's.
        let later: [(String, String); 2] = [("early".into(), "1500".into()), ("late".into(), "500".into())];
        assert_eq!(report("3us~4.5us"), later);
        let folded = printed(is_piped, &["flame", "TRACE", "--folded", "--range", "3us~4.5us", "-o", "-"]);
        assert_eq!(folded, "late 500\nearly 1500\n");
        let replay = printed(is_piped, &["replay", "TRACE", "--range", "0~2us"]);
        assert!(replay.contains("2.000 us") && !replay.contains("late"), "{replay}");
    }
}

#[test]
fn exports_tell_moments_since_the_first_lane() {
    let csv = printed(false, &["export", "TRACE", "--format", "csv", "-o", "-"]);
    let early: Vec<(String, String)> = vec![("early".into(), "0".into()), ("early".into(), "3000".into())];
    assert_eq!(rows(&csv, "start_nanos"), [&early[..], &[("late".into(), "4000".into())]].concat());
}
