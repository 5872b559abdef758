//! k-perf's text format.

use crate::support::{Names, completed, reader, simple, trace};
use kperf_abi::block::BlockHeader;
use kperf_export::formats::kperf::{
    Options, symbols_file_name, trace_file_name, write_symbols, write_traces,
};
use kperf_profile::{CallFilter, LOST, Symbols};
use kperf_trace::LaneId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

/// A file in memory that its writer may drop.
#[derive(Clone, Default)]
struct File(Rc<RefCell<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The trace files, by lane.
fn export(file: &[u8], options: &Options) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let open = |lane: LaneId| Ok(files.entry(lane.to_string()).or_insert_with(File::default).clone());
    write_traces(reader(file), &CallFilter::default(), options, open, |_| ()).expect("to memory");
    let text = |file: File| String::from_utf8(file.0.borrow().clone()).expect("text");
    files.into_iter().map(|(lane, file)| (lane, text(file))).collect()
}

#[test]
fn a_line_per_enter_and_leave() {
    let file = simple("main{ 1500 step{ 2000 } 700 step{ 0 } 300 }");
    assert_eq!(export(&file, &Options::default())["0"], ">;1\n>;2\n<;2\n>;2\n<;0\n<;4\n");
    let options = Options { leave_ids: true };
    assert_eq!(export(&file, &options)["0"], ">;1\n>;2\n<;2;2\n>;2\n<;2;0\n<;1;4\n");
}

/// The script divides by the time of the function that is called first.
#[test]
fn the_first_root_takes_some_time() {
    let file = simple("init{ 100 helper{ 0 } 100 } 1000 init{ 100 } 5 main{ 3000 step{ 200 } } end{ 10 }");
    let text = ">;1\n>;2\n<;0\n<;1\n>;1\n<;0\n>;3\n>;4\n<;0\n<;3\n>;5\n<;0\n";
    assert_eq!(export(&file, &Options::default())["0"], text);
    assert_eq!(export(&simple("init{ 0 }"), &Options { leave_ids: true })["0"], ">;1\n<;1;1\n");
}

#[test]
fn short_calls_sum_up_to_what_they_took() {
    // A thousand calls of 400 ns: 400 us, though none of them takes a whole microsecond.
    let script = format!("main{{ {} }}", "137 step{ 400 } ".repeat(1000));
    let text = export(&simple(&script), &Options::default()).remove("0").expect("a lane");
    let micros: Vec<u64> = text.lines().filter_map(|line| line.strip_prefix("<;")?.parse().ok()).collect();
    let (main, steps) = micros.split_last().expect("main");
    assert_eq!((*main, steps.len(), steps.iter().max()), (537, 1000, Some(&1)));
    assert!(steps.iter().sum::<u64>().abs_diff(400) <= 2, "{}", steps.iter().sum::<u64>());
}

#[test]
fn every_lane_has_a_file_and_every_call_an_end() {
    let start = BlockHeader::default();
    let file = trace(
        &[(0, start, "main{ stack=3 a{ 5000 } stack=0 1000 trap>0"), (7, start, "main{ 3000 a{ 2000")],
        Some(&completed()),
    );
    let files = export(&file, &Options::default());
    let expected = [("0", ">;1\n<;6\n"), ("0.3", ">;2\n<;5\n"), ("7", ">;1\n>;2\n<;3\n<;6\n")];
    assert_eq!(files, expected.map(|(lane, text)| (lane.to_owned(), text.to_owned())).into());
}

#[test]
fn names_are_escaped_json() {
    let mut names = Names::default();
    for name in ["life::step", "say(\"hi\")\\", "line\nbreak", "life::step"] {
        names.0.push(name.into());
    }
    let mut out = Vec::new();
    write_symbols(&names.symbols(), &mut out).expect("to memory");
    let text = String::from_utf8(out).expect("text");
    assert_eq!(
        text,
        "{ \"1\": \"life::step\",\n\"2\": \"say(\\\"hi\\\")\\\\\",\n\"3\": \"line\\nbreak\",\n\"4\": \"life::step\",\n\
         \"lost\": \"[lost]\" }\n"
    );
    let json: BTreeMap<String, String> = serde_json::from_str(&text).expect("JSON");
    assert_eq!((json.len(), json["3"].as_str()), (5, "line\nbreak"));
    assert_eq!(Symbols::default().name(LOST), "[lost]");
}

#[test]
fn the_script_finds_the_symbols_beside_the_trace() {
    let lane = LaneId { recorder: 1, stack: 2 };
    let name = trace_file_name("my/trace life", lane);
    assert_eq!(name, "trace_my_trace_life_1.2.txt");
    assert_eq!(symbols_file_name(&name), "symbols_my_symbols_life_1.2.txt");
}
