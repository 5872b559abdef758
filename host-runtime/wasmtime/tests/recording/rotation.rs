//! Traces that go on in other files, each of which is whole.

use crate::common::*;
use kperf_trace::{Event, Item, TraceReader};
use kperf_wasmtime::{ClockChoice, HostLane, Recorder, Rotation, TraceContext};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;
use wasmtime::{Engine, Linker, Store};

fn files(folder: &Path) -> Vec<Vec<u8>> {
    (0..).map_while(|number| std::fs::read(folder.join(format!("{number}.kperf"))).ok()).collect()
}

/// Enters, closed frames and events in a trace that must be whole.
fn calls(bytes: &[u8]) -> [usize; 3] {
    let mut reader = TraceReader::new(bytes).unwrap();
    let (mut open, mut entered, mut closed, mut events) = (0u32, 0, 0, 0);
    while let Some(item) = reader.next().unwrap() {
        let Item::Events(batch) = item else { continue };
        assert_eq!(batch.depth, open, "the block goes on where the file is");
        events += batch.events.len();
        for timed in batch.events {
            match timed.event {
                Event::Enter(_) => (open, entered) = (open + 1, entered + 1),
                Event::Leave => (open, closed) = (open - 1, closed + 1),
                Event::Unwind { depth, .. } => {
                    closed += (open - depth) as usize;
                    open = depth;
                }
                event => panic!("{event:?}"),
            }
        }
    }
    assert_eq!((reader.anomalies(), open), (&[][..], 0));
    [entered, closed, events]
}

#[test]
fn each_file_is_a_whole_trace() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let recorder = Recorder::builder()
        .clock(ClockChoice::Test)
        .symbols(exits::table(SYMBOLS_OF, kperf_rewriter::Recording::imported()))
        .rotate(Rotation::by_size(1500), move |number| File::create(path.join(format!("{number}.kperf"))))
        .build(&engine)
        .unwrap();
    // Two frames are open around all others.
    let guest = r#"
        (func $f (local $t i32) (ENTER 2) (LEAVE))
        (func $many (param i32) (local $t i32)
          (local.set $t (call $enter (i32.const 1)))
          (loop (call $f) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
          (call $leave (local.get $t)))
        (func (export "main") (local $t i32) (ENTER 0) (call $many (i32.const 300000)) (LEAVE))"#;
    let mut store = Store::new(&engine, ());
    let mut linker = Linker::new(&engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    let instance = linker.instantiate(&mut store, &module(&engine, guest)).unwrap();
    let main = instance.get_typed_func::<(), ()>(&mut store, "main").unwrap();
    lane.call(&mut store, |store| main.call(store, ())).unwrap();
    drop(store);
    recorder.finish("completed").unwrap();

    let files = files(folder.path());
    assert!(files.len() > 3, "{} files", files.len());
    assert_eq!(recorder.stats().files, files.len() as u64);
    let written: usize = files.iter().map(|file| file.len() - end(file)).sum();
    assert_eq!(recorder.stats().bytes as usize, written);
    let (mut inner, mut again) = (0, 0);
    for (number, file) in files.iter().enumerate() {
        let [entered, closed, events] = calls(file);
        assert_eq!(entered, closed);
        let text = text(file);
        assert!(text.starts_with("symbols"), "the symbols are in each file");
        let is_last = number + 1 == files.len();
        let outcome = if is_last { "completed" } else { "continued in another file" };
        let end = text.lines().last().unwrap();
        assert!(end.contains(&format!("{outcome}: {events} events")), "{end}");
        // Calls that are open where a file ends are counted in the next one too.
        inner += text.matches("enter 2\n").count();
        again += usize::from(!is_last && text.lines().rev().take(3).any(|line| line.ends_with("enter 2")));
        assert!(is_last || text.contains("unwind to 0, unfinished"));
        assert_eq!(["enter 0\n", "enter 1\n"].map(|outer| text.matches(outer).count()), [1, 1]);
    }
    assert_eq!(inner, 300_000 + again);
}

/// The length of a file's last chunk, which is written when nobody counts any more.
fn end(file: &[u8]) -> usize {
    let marker = b"\xf5kpfENDT";
    file.len() - file.windows(marker.len()).rposition(|bytes| bytes == marker).unwrap()
}

const SYMBOLS_OF: &str = r#"(module (func $f) (func (export "g") (call $f)))"#;

#[test]
fn parents_hold_in_the_next_file_too() {
    let engine = Engine::default();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let mut failures = 0;
    let open = move |number| {
        // The second file can't be had at once.
        if number == 1 && failures < 1 {
            failures += 1;
            return Err(io::Error::other("not now"));
        }
        File::create(path.join(format!("{number}.kperf")))
    };
    let recorder = Recorder::builder()
        .clock(ClockChoice::Test)
        .rotate(Rotation::by_age(Duration::ZERO), open)
        .build(&engine)
        .unwrap();
    let mut linker: Linker<HostLane> = Linker::new(&engine);
    recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
    let guest = "(func (export \"f\") (local $t i32) (ENTER 7) (LEAVE))";
    let pre = linker.instantiate_pre(&module(&engine, guest)).unwrap();
    let mut store = Store::new(&engine, recorder.host_lane());
    store.data_mut().set_parent(TraceContext::parse(PARENT, "").ok());
    let instance = pre.instantiate(&mut store).unwrap();
    let f = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
    let begun = std::time::Instant::now();
    while recorder.stats().files < 3 {
        f.call(&mut store, ()).unwrap();
        store.data_mut().flush();
        std::thread::sleep(Duration::from_millis(1));
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", recorder.stats());
    }
    f.call(&mut store, ()).unwrap();
    drop(store);
    recorder.finish("completed").unwrap();
    let files = files(folder.path());
    assert!(files.len() >= 3);
    for file in &files {
        let text = text(file);
        let [parent, enter] = [text.find("parent 00-"), text.find("enter 7")];
        assert!(parent < enter || enter.is_none(), "{text}");
        assert_eq!(enter.is_some(), parent.is_some(), "{text}");
    }
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A file whose third write fails, if it is to fail: that of its first block.
struct Failing {
    file: File,
    writes: usize,
    fails: bool,
}

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        if self.fails && self.writes == 3 { Err(io::Error::other("not now")) } else { self.file.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn each_file_tells_what_it_lacks() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let recorder = Recorder::builder()
        .clock(ClockChoice::Test)
        .rotate(Rotation::by_size(1), move |number| {
            let file = File::create(path.join(format!("{number}.kperf")))?;
            Ok(Failing { file, writes: 0, fails: number == 0 || number == 2 })
        })
        .build(&engine)
        .unwrap();
    for _ in 0..4 {
        run(&recorder, &engine, "many", Some(100_000), || {});
    }
    recorder.finish("completed").unwrap_err();
    let files = files(folder.path());
    assert!(files.len() > 2, "{} files", files.len());
    let (mut all, mut lost_by_all) = (0, 0);
    for (number, file) in files.iter().enumerate() {
        let mut reader = TraceReader::new(&file[..]).unwrap();
        let (mut events, mut lost) = (0, 0);
        while let Some(item) = reader.next().unwrap() {
            let Item::Events(batch) = item else { continue };
            for timed in batch.events {
                match timed.event {
                    Event::Lost { events } => lost += events.map_or(0, |events| u64::from(events.get())),
                    Event::Enter(_) | Event::Leave | Event::Unwind { .. } => events += 1,
                    event => panic!("{event:?}"),
                }
            }
        }
        assert_eq!(reader.anomalies(), [], "file {number}");
        let summary = reader.summary().unwrap();
        assert_eq!((summary.dropped_events, summary.events), (lost, events + lost), "file {number}");
        (all, lost_by_all) = (all + events, lost_by_all + lost);
    }
    let stats = recorder.stats();
    assert_eq!((stats.events, stats.lost_events), (all, lost_by_all));
    assert!(lost_by_all > 0);
}
