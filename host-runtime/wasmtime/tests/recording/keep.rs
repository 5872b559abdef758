//! A flight recorder: the last events, and the numbers of all calls.

use crate::common::exits::{GUEST as EXITS, compile, table};
use crate::common::*;
use kperf_abi::FuncId;
use kperf_rewriter::Recording;
use kperf_trace::{Event, Item, Kept, Summary, TraceReader};
use kperf_wasmtime::{Builder, ClockChoice, ErrorKind, HostLane, Keep, Notice, Recorder, TraceContext};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;
use wasmtime::{Engine, Instance, Linker, Store};

/// The events of each lane, with their times.
type Events = BTreeMap<u32, Vec<(u64, Event)>>;

/// What a trace has, which must be whole.
struct Read {
    events: Events,
    summary: Summary,
    kept: Option<Kept>,
    parents: usize,
}

fn read(bytes: &[u8]) -> Read {
    let mut reader = TraceReader::new(bytes).unwrap();
    let (mut events, mut parents) = (Events::new(), 0);
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Events(batch) => {
                let of = events.entry(batch.lane.recorder).or_default();
                let events = batch.events.iter().map(|timed| (timed.ticks, timed.event));
                of.extend(events.filter(|(_, event)| !matches!(event, Event::Pause(_) | Event::Wait(_))));
            }
            Item::Parent(parent) => parents += usize::from(parent.context.is_some()),
            _ => {}
        }
    }
    assert_eq!(reader.anomalies(), []);
    let summary = reader.summary().unwrap().clone();
    let counted: usize = events.values().map(Vec::len).sum();
    assert_eq!((summary.events as usize, summary.dropped_events), (counted, 0));
    Read { events, summary, kept: Kept::read(Cursor::new(bytes)).unwrap(), parents }
}

fn read_file(path: impl AsRef<Path>) -> Read {
    read(&std::fs::read(path).unwrap())
}

/// The open calls after events, and the numbers of all.
fn follow(events: &[(u64, Event)]) -> (Vec<FuncId>, BTreeMap<u32, u64>) {
    let (mut open, mut calls) = (Vec::new(), BTreeMap::new());
    for &(_, event) in events {
        match event {
            Event::Enter(id) => {
                *calls.entry(id.0).or_default() += 1;
                open.push(id);
            }
            Event::Leave => drop(open.pop()),
            Event::Unwind { depth, .. } => open.truncate(depth as usize),
            _ => {}
        }
    }
    (open, calls)
}

/// A dump has the end of the full trace, and before it the calls that were open.
#[track_caller]
fn assert_end_of(full: &Events, dump: &Read) {
    let kept = dump.kept.as_ref().unwrap();
    let mut calls: BTreeMap<u32, u64> = BTreeMap::new();
    let mut all_open = BTreeSet::from([0]);
    for (recorder, full) in full {
        for (id, more) in follow(full).1 {
            *calls.entry(id).or_default() += more;
        }
        let part = dump.events.get(recorder).map_or(&[][..], Vec::as_slice);
        let after = full.iter().filter(|(ticks, _)| *ticks > kept.complete_from_ticks).count();
        // How much of it is made up: the greatest length that fits.
        let fits = |open: usize| {
            let rest = part.len().checked_sub(open)?;
            let begin = full.len().checked_sub(rest)?;
            let opened = follow(&full[..begin]).0;
            let enters = part[..open].iter().map(|(_, event)| *event).collect::<Vec<_>>();
            let is_same = part[open..] == full[begin..] && rest >= after;
            (is_same && enters == opened.iter().map(|&id| Event::Enter(id)).collect::<Vec<_>>())
                .then_some(open)
        };
        let at_begin =
            |(ticks, event): &&(u64, Event)| *ticks == part[0].0 && matches!(event, Event::Enter(_));
        let most = part.iter().take_while(at_begin).count();
        // An enter at that time may be of both.
        let open: Vec<usize> = (0..=most).rev().filter_map(fits).take(2).collect();
        assert!(!open.is_empty(), "lane {recorder}: {} of {} events", part.len(), full.len());
        all_open = all_open.iter().flat_map(|sum| open.iter().map(move |open| sum + open)).collect();
    }
    assert!(all_open.contains(&(kept.open as usize)), "{} {all_open:?}", kept.open);
    assert_eq!(kept.lost_events, 0);
    assert_eq!(kept.calls, calls.into_iter().collect::<Vec<_>>());
}

/// `deep(n)` goes n calls deep, and makes 100 calls at each depth.
const DEEP: &str = r#"
    (import "host" "h" (func $h))
    (func $f (local $t i32) (ENTER 1) (LEAVE))
    (func $deep (export "deep") (param i32) (local $t i32) (local $n i32)
      (local.set $t (call $enter (i32.const 2)))
      (local.set $n (i32.const 100))
      (loop (call $f) (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (if (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1)))) (else (call $h)))
      (call $leave (local.get $t)))"#;

/// A guest in a store of its own, which calls `h` in the middle.
fn deep(recorder: &Recorder, engine: &Engine, depths: &[u32], h: impl Fn() + Send + Sync + 'static) {
    let mut store = Store::new(engine, ());
    let mut linker = Linker::new(engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    linker.func_wrap("host", "h", h).unwrap();
    let instance = linker.instantiate(&mut store, &module(engine, DEEP)).unwrap();
    let deep = instance.get_typed_func::<u32, ()>(&mut store, "deep").unwrap();
    for &depth in depths {
        lane.call(&mut store, |store| deep.call(store, depth)).unwrap();
    }
}

fn keeping(engine: &Engine, keep: Keep) -> Recorder {
    Recorder::builder().clock(ClockChoice::Test).keep(keep).build(engine).unwrap()
}

/// 50 ms of the test clock, which is some four blocks.
fn some_blocks() -> Keep {
    Keep::bytes(64 << 20).and_last(Duration::from_millis(50))
}

#[test]
fn a_dump_has_the_end_of_the_whole_trace() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let path = |n: u32| folder.path().join(format!("{n}.kperf"));
    for depths in [&[3u32][..], &[900], &[900, 5, 700], &[0; 3000]] {
        let (recorder, memory) = recorder(&engine);
        deep(&recorder, &engine, depths, || ());
        recorder.finish("completed").unwrap();
        let full = read(&memory.bytes());
        assert_eq!(full.kept, None);

        let kept = keeping(&engine, some_blocks());
        deep(&kept, &engine, depths, || ());
        kept.dump(path(1)).unwrap();
        kept.dump(path(2)).unwrap();
        kept.finish("completed").unwrap();
        for n in [1, 2] {
            let dump = read_file(path(n));
            assert_end_of(&full.events, &dump);
            let events: usize = full.events.values().map(Vec::len).sum();
            let shown = dump.events.values().map(Vec::len).sum::<usize>();
            let is_whole = dump.kept.unwrap().complete_from_ticks == 0;
            assert_eq!(
                (is_whole, shown < events / 2),
                (events < 50_000, events > 150_000),
                "{shown} of {events}"
            );
            let notes = dump.summary.notes;
            assert_eq!(
                notes.iter().any(|note| note.contains("flight recorder has kept")),
                !is_whole,
                "{notes:?}"
            );
        }
    }
}

#[test]
fn open_calls_are_in_each_dump_and_the_recording_goes_on() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let keep = keeping(&engine, some_blocks());
    let (recorder, full) = recorder(&engine);
    let depths = [600u32, 2, 600];
    let number = Arc::new(AtomicU32::new(0));
    let path = |number: u32| folder.path().join(format!("{number}.kperf"));
    let (dumping, n, paths) = (keep.clone(), number.clone(), [0, 1, 2].map(path));
    deep(&keep, &engine, &depths, move || {
        dumping.dump(&paths[n.fetch_add(1, Ordering::Relaxed) as usize]).unwrap();
    });
    deep(&recorder, &engine, &depths, || ());
    recorder.finish("completed").unwrap();
    keep.finish("completed").unwrap();
    assert_eq!(number.load(Ordering::Relaxed), 3);
    let full = read(&full.bytes()).events.remove(&0).unwrap();
    // The innermost `$deep` calls `h` after the last of its hundred calls: two leaves follow each other.
    let mut ends = Vec::new();
    let mut leaves = 0;
    for (at, &(_, event)) in full.iter().enumerate() {
        leaves = if event == Event::Leave { leaves + 1 } else { 0 };
        if leaves == 2 {
            ends.push(at);
        }
    }
    assert_eq!(ends.len(), 3);
    for (n, end) in ends.into_iter().enumerate() {
        let before = Events::from([(0, full[..end].to_vec())]);
        let dump = read_file(path(n as u32));
        assert_end_of(&before, &dump);
        assert_eq!(follow(&dump.events[&0]).0.len(), depths[n] as usize + 1);
    }
}

/// A guest with every way out of a function.
fn exits(recorder: &Recorder, engine: &Engine, calls: &[(&str, i32)]) {
    let module = compile(engine, EXITS, Recording::imported());
    let mut store = Store::new(engine, ());
    let mut linker = Linker::new(engine);
    let lane = recorder.link(&mut store, &mut linker).unwrap();
    let h = |n: i32| if n == 1 { Err(wasmtime::Error::msg("the host fails")) } else { Ok(()) };
    linker.func_wrap("host", "h", h).unwrap();
    let instance: Instance = linker.instantiate(&mut store, &module).unwrap();
    for &(name, n) in calls {
        let call = instance.get_typed_func::<i32, i32>(&mut store, name).unwrap();
        let _ = lane.call(&mut store, |store| call.call(store, n));
    }
}

/// The files of a recorder that keeps everything in a folder, after these calls of the guest.
fn dumped(describe: impl FnOnce(Keep) -> Keep, calls: &[(&str, i32)]) -> Vec<Read> {
    let engine = exits::engine();
    let folder = tempfile::tempdir().unwrap();
    let keep = describe(Keep::bytes(1 << 20).to(folder.path().join("app.kperf")));
    let builder = Recorder::builder().clock(ClockChoice::Test).symbols(table(EXITS, Recording::imported()));
    let recorder = builder.keep(keep).build(&engine).unwrap();
    exits(&recorder, &engine, calls);
    recorder.finish("completed").unwrap();
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let expected = ["app.kperf", "app.2.kperf", "app.3.kperf"].map(|name| folder.path().join(name));
    let mut expected = expected[..names.len()].to_vec();
    expected.sort();
    assert_eq!(names, expected);
    (1..=names.len())
        .map(|n| {
            read_file(folder.path().join(if n == 1 { "app.kperf".into() } else { format!("app.{n}.kperf") }))
        })
        .collect()
}

fn why(dumps: &[Read]) -> Vec<&str> {
    dumps.iter().map(|dump| &*dump.kept.as_ref().unwrap().why).collect()
}

#[test]
fn failures_and_slow_calls_are_written() {
    assert!(dumped(|keep| keep, &[("fib", 10), ("catches", 3), ("host", 0), ("down", 9)]).is_empty());
    let trap = dumped(|keep| keep, &[("fib", 10), ("traps", 3)]);
    assert_eq!(why(&trap), ["trap"]);
    assert!(trap[0].events[&0].iter().any(|(_, event)| matches!(event, Event::Unwind { .. })));
    assert_eq!(why(&dumped(|keep| keep, &[("host", 1)])), ["an error of the host, or an uncaught exception"]);
    // `fib(15)` has more than a thousand calls of a microsecond each and more.
    let slow = |keep: Keep| keep.slower_than(Duration::from_millis(3), |name| name == "fib");
    assert!(dumped(slow, &[("fib", 5), ("down", 5000)]).is_empty());
    let fib = dumped(slow, &[("fib", 5), ("fib", 15)]);
    assert_eq!(fib.len(), 1);
    assert!(why(&fib)[0].starts_with("a call of fib took "), "{:?}", why(&fib));
}

#[test]
fn a_dump_that_fails_leaves_nothing_and_the_next_one_works() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let builder = Recorder::builder().clock(ClockChoice::Test).keep(Keep::bytes(1 << 20));
    let builder = builder.on_notice(move |notice| tell.lock().unwrap().push(notice.to_string()));
    let recorder = builder.build(&engine).unwrap();
    deep(&recorder, &engine, &[5], || ());
    let missing = recorder.dump(folder.path().join("none/app.kperf")).unwrap_err();
    assert!(matches!(missing.kind(), ErrorKind::Dump(_)), "{missing:?}");
    if cfg!(target_os = "linux") {
        let full = recorder.dump("/dev/full").unwrap_err();
        assert!(matches!(full.kind(), ErrorKind::Dump(_)), "{full:?}");
        assert!(std::fs::metadata("/dev/full").is_ok_and(|metadata| !metadata.is_file()));
    }
    let path = folder.path().join("app.kperf");
    std::fs::write(&path, "an older file").unwrap();
    recorder.dump(&path).unwrap();
    assert_eq!(read_file(&path).events[&0].len(), 2 * 6 * 101);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let told = told.lock().unwrap();
    assert!(told[0].starts_with("the last events can't be written to "), "{told:?}");
    assert!(told.last().unwrap().contains("app.kperf has the last events: the host asked"), "{told:?}");
    drop(told);
    // Without a path no dump has a number.
    let unnamed = recorder.request_dump("now").unwrap_err();
    assert!(matches!(unnamed.kind(), ErrorKind::KeepsNothing), "{unnamed:?}");
    recorder.finish("completed").unwrap();
    let over = [recorder.dump(&path), recorder.request_dump("now")].map(|result| result.unwrap_err());
    assert!(over.iter().all(|error| matches!(error.kind(), ErrorKind::Finished)), "{over:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_can_t_be_kept_is_refused() {
    let engine = engine();
    let (recorder, _) = recorder(&engine);
    let refused =
        [recorder.dump("app.kperf"), recorder.request_dump("now")].map(|result| result.unwrap_err());
    assert!(refused.iter().all(|error| matches!(error.kind(), ErrorKind::KeepsNothing)), "{refused:?}");
    let counting = |keep| Recorder::builder().clock(ClockChoice::Instructions).keep(keep).build(&engine);
    let age = counting(Keep::last(Duration::from_secs(1))).err().unwrap();
    assert!(matches!(age.kind(), ErrorKind::NoAge), "{age:?}");
    counting(Keep::bytes(0)).unwrap();
}

/// What reports that a dump is written can't wait for another.
#[test]
fn a_notice_can_t_wait_for_a_dump() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine();
    let recorder = Arc::new(OnceLock::<Recorder>::new());
    let (told, kinds) = mpsc::channel();
    let report = {
        let (recorder, second) = (recorder.clone(), folder.path().join("second.kperf"));
        move |_: &Notice<'_>| {
            let error = recorder.get().unwrap().dump(&second).unwrap_err();
            told.send(matches!(error.kind(), ErrorKind::OwnThread)).unwrap();
        }
    };
    let builder = Recorder::builder().clock(ClockChoice::Test).keep(some_blocks()).on_notice(report);
    let built = recorder.get_or_init(|| builder.build(&engine).unwrap());
    built.dump(folder.path().join("first.kperf")).unwrap();
    assert!(kinds.recv().unwrap());
    assert!(!folder.path().join("second.kperf").exists());
    built.finish("completed").unwrap();
}

#[test]
fn lanes_and_parents_are_kept_as_far_as_they_are_needed() {
    let engine = Engine::default();
    let folder = tempfile::tempdir().unwrap();
    let recorder = keeping(&engine, some_blocks());
    let full = Memory::default();
    let traced = Recorder::builder().clock(ClockChoice::Test).sink(full.clone()).build(&engine).unwrap();
    for recorder in [&recorder, &traced] {
        let mut linker: Linker<HostLane> = Linker::new(&engine);
        recorder.add_to_linker(&mut linker, |lane| lane).unwrap();
        let guest = r#"(func $f (local $t i32) (ENTER 1) (LEAVE))
            (func (export "main") (param i32) (local $t i32)
              (local.set $t (call $enter (i32.const 0)))
              (loop (call $f) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
              (call $leave (local.get $t)))"#;
        let guest = module(&engine, guest);
        // The first one stays idle, with its parent; its number isn't free.
        let idle = |calls: u32, parent: u8| {
            let mut store = Store::new(&engine, recorder.host_lane());
            let trace_id = [parent; 16];
            let context =
                TraceContext { trace_id, span_id: [parent; 8], flags: 1, ..TraceContext::default() };
            store.data_mut().set_parent(Some(context));
            let instance = linker.instantiate(&mut store, &guest).unwrap();
            let main = instance.get_typed_func::<u32, ()>(&mut store, "main").unwrap();
            HostLane::call(&mut store, |lane| lane, |store| main.call(store, calls)).unwrap();
            store
        };
        let first = idle(10, 1);
        for request in 0..40 {
            drop(idle(5_000, 2 + request));
        }
        recorder.dump(folder.path().join("app.kperf")).ok();
        drop(first);
        recorder.finish("completed").unwrap();
    }
    let (dump, full) = (read_file(folder.path().join("app.kperf")), read(&full.bytes()));
    assert_end_of(&full.events, &dump);
    assert!(dump.events[&1].len() < full.events[&1].len() / 2);
    // The idle lane has its parent still.
    assert!((3..20).contains(&dump.parents) && full.parents == 41, "{} {}", dump.parents, full.parents);
}

/// However many calls there are, the file is no larger than what is kept.
#[test]
fn memory_is_bounded_and_losses_are_none() {
    const CALLS: u32 = 3_000_000;
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.kperf");
    let builder = Recorder::builder().clock(ClockChoice::Precise).calibrate(false).keep(Keep::bytes(1 << 20));
    let recorder = Builder::flush_every(builder, None).build(&engine).unwrap();
    let dumping = recorder.clone();
    let (stop, dumps) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (stops, counted, to) = (stop.clone(), dumps.clone(), path.clone());
    let under_load = std::thread::spawn(move || {
        while stops.load(Ordering::Relaxed) == 0 {
            dumping.dump(&to).unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            let dump = read_file(&to);
            assert!(dump.summary.dropped_events == 0);
        }
    });
    run(&recorder, &engine, "many", Some(CALLS), || ());
    stop.store(1, Ordering::Relaxed);
    under_load.join().unwrap();
    recorder.dump(&path).unwrap();
    recorder.finish("completed").unwrap();
    assert!(dumps.load(Ordering::Relaxed) > 0);
    let dump = read_file(&path);
    assert_eq!(dump.kept.unwrap().calls, [(1, u64::from(CALLS))]);
    let length = std::fs::metadata(&path).unwrap().len();
    assert!((200 << 10..(1 << 20) + 4096).contains(&length), "{length}");
}
