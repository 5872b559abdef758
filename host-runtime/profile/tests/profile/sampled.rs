//! Profiles that were sampled: sums of windows, exact counts shared out, slow calls beside them.

use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{FuncIndex, Symbol, SymbolTable};
use kperf_profile::{
    Call, CallFilter, CallGraph, CallObserver, FlatProfile, GrowingProfile, Profile, RunErrors, Sampling,
    Symbols, WindowChoice,
};
use kperf_trace::block::BlockHeader;
use kperf_trace::word::{Reason, Word};
use kperf_trace::{FuncId, Header, Summary, TraceReader, TraceWriter, Window, WindowNode};

const NAMES: [&str; 5] = ["main", "step", "leaf", "rare", "never"];

fn symbols() -> Vec<u8> {
    let symbol = |(id, name): (u32, &str)| Symbol {
        id: FuncId(id),
        func_index: FuncIndex(id),
        name: name.into(),
        ..Symbol::default()
    };
    let symbols = (0..).zip(NAMES).map(symbol).collect();
    SymbolTable { module: ModuleIdentity::default(), id_base: 0, symbols, ..SymbolTable::default() }
        .to_bytes()
}

fn node(parent: Option<u32>, func: u32, samples: u64, self_ticks: u64) -> WindowNode {
    WindowNode { parent, func: FuncId(func), samples, self_ticks }
}

/// main calls step, which calls leaf; main calls leaf itself, too.
fn window(recorder: u32, start_ticks: u64, calls: &[(u32, u64)]) -> Window {
    Window {
        recorder,
        start_ticks,
        end_ticks: start_ticks + 1000,
        period_nanos: 10,
        span_min_nanos: 100,
        samples: 100,
        idle_ticks: 100,
        squares: 9000.0,
        nodes: vec![
            node(None, 0, 10, 100),
            node(Some(0), 1, 20, 200),
            node(Some(1), 2, 45, 450),
            node(Some(0), 2, 15, 150),
        ],
        calls: calls.iter().map(|&(func, calls)| (FuncId(func), calls)).collect(),
        ..Window::default()
    }
}

fn trace(write: impl FnOnce(&mut TraceWriter<Vec<u8>>)) -> Vec<u8> {
    trace_with(Header::default(), write)
}

fn trace_with(header: Header, write: impl FnOnce(&mut TraceWriter<Vec<u8>>)) -> Vec<u8> {
    trace_that_ended(header, "completed", write)
}

fn trace_that_ended(header: Header, outcome: &str, write: impl FnOnce(&mut TraceWriter<Vec<u8>>)) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), &header).unwrap();
    writer.symbols(&symbols()).unwrap();
    write(&mut writer);
    writer.finish(&Summary { outcome: outcome.into(), ..Summary::default() }).unwrap()
}

fn two_windows() -> Vec<u8> {
    trace(|writer| {
        writer.window(&window(0, 0, &[(0, 1), (1, 7), (2, 1000)])).unwrap();
        writer.window(&window(0, 1000, &[(2, 3), (3, 2)])).unwrap();
    })
}

fn read(bytes: &[u8]) -> Profile {
    Profile::read(TraceReader::new(bytes).unwrap(), |_| ()).unwrap()
}

fn read_filtered(bytes: &[u8], filter: &CallFilter<'_>) -> Profile {
    Profile::read_filtered(TraceReader::new(bytes).unwrap(), filter, |_| ()).unwrap()
}

fn tree(profile: &Profile) -> String {
    profile.tree.display(&profile.symbols).to_string()
}

#[test]
fn windows_add_up_and_calls_are_shared_out() {
    let profile = read(&two_windows());
    // Three of four parts of leaf's time were within step. No sample found `rare`.
    assert_eq!(
        tree(&profile),
        "\
main: 1 call, total 1800, self 200
  step: 7 calls, total 1300, self 400, min 185, max 185
    leaf: 752 calls, total 900, self 900, min 1, max 1
  leaf: 251 calls, total 300, self 300, min 1, max 1
[unseen]: 0 calls, total 0, self 0
  rare: 2 calls, total 0, self 0, min 0, max 0
"
    );
    assert_eq!((profile.calls(), profile.hidden_calls, profile.wall_nanos()), (1013, 0, 2000));
    assert_eq!((profile.lanes.len(), profile.lanes[0].calls), (1, 1013));
    let sampling = profile.sampling().unwrap();
    assert_eq!((sampling.samples, sampling.busy_ticks, sampling.idle_ticks), (200, 1800, 200));
    assert_eq!(profile.health.warnings(), Vec::<String>::new());
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    let rows: Vec<_> = flat.rows.iter().map(|row| (&*row.name, row.calls, row.self_nanos)).collect();
    assert_eq!(rows, [("leaf", 1003, 1200.0), ("step", 7, 400.0), ("main", 1, 200.0), ("rare", 2, 0.0)]);
    let graph = CallGraph::new(&profile.tree, &profile.symbols, &profile.header, None);
    assert_eq!(graph.callers(FuncId(2)).len(), 2);
    assert_eq!(graph.roots().len(), 1, "nobody says that the host called what wasn't seen");
}

#[test]
fn waits_of_the_guest_s_own_are_no_calls() {
    const WAIT: u32 = kperf_trace::word::WAIT_ID;
    let waiting = |nodes: &[WindowNode], squares| Window {
        nodes: nodes.to_vec(),
        squares,
        ..window(0, 0, &[(0, 1), (1, 2)])
    };
    // Ten samples of calls, and forty of waits, each of ten ticks: within the wait the thread had no processor for some time.
    let nodes = [
        node(None, 0, 4, 40),
        node(Some(0), 1, 6, 60),
        node(Some(1), WAIT, 40, 400),
        node(Some(2), kperf_profile::WAITING.0, 1, 5),
        node(Some(1), kperf_profile::WAITING.0, 1, 7),
        node(None, WAIT, 3, 30),
    ];
    let profile = read(&trace(|writer| writer.window(&waiting(&nodes, 6300.0)).unwrap()));
    assert_eq!(
        tree(&profile),
        "\
main: 1 call, total 512, self 40
  step: 2 calls, total 472, self 60, min 236, max 236
    [waiting]: 0 calls, total 412, self 412
"
    );
    let sampling = profile.sampling().unwrap();
    assert_eq!((sampling.busy_ticks, sampling.idle_ticks, sampling.effective_samples()), (100, 130, 5.0));
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    assert_eq!((flat.self_nanos, flat.waiting_nanos, flat.calls), (100.0, 412.0, 3));
    // The squares of what is left are at least those of equal samples.
    for squares in [0.0, 4100.0] {
        let profile = read(&trace(|writer| writer.window(&waiting(&nodes, squares)).unwrap()));
        assert_eq!(profile.sampling().unwrap().effective_samples(), 10.0);
    }
}

/// Three runs: in each one recorder has samples and another has counts.
#[test]
fn runs_have_means_and_errors() {
    let header = Header { repeated: true, ..Header::default() };
    let bytes = trace_with(header, |writer| {
        for (run, leaf) in [450, 470, 490].into_iter().enumerate() {
            let start = run as u64 * 10_000;
            let mut sampled = window(0, start, &[]);
            sampled.nodes[2].self_ticks = leaf;
            writer.window(&sampled).unwrap();
            let calls = [(0, 1), (1, 7), (2, 1000), (3, 2 * run as u64)];
            let counted = Window { nodes: Vec::new(), squares: 0.0, ..window(0, start + 1000, &calls) };
            writer.window(&counted).unwrap();
        }
        // A run that doesn't end.
        writer.window(&window(0, 30_000, &[])).unwrap();
    });
    let profile = read(&bytes);
    assert_eq!(
        tree(&profile),
        "\
main: 1 call, total 920, self 100
  step: 7 calls, total 670, self 200, min 95, max 95
    leaf: 758 calls, total 470, self 470, min 0, max 0
  leaf: 242 calls, total 150, self 150, min 0, max 0
[unseen]: 0 calls, total 0, self 0
  rare: 2 calls, total 0, self 0, min 0, max 0
"
    );
    assert_eq!((profile.calls(), profile.runs().unwrap().len()), (1010, 3));
    // Of the shares 600 / 900, 620 / 920 and 640 / 940: 4.303 standard errors are 1.8 points. But the samples are worth 290 equal ones,
    // which know no more than 5.
    let errors = RunErrors::of(&profile).unwrap();
    let samples = profile.sampling().unwrap();
    assert!((errors.share_error(FuncId(2)) - samples.error(0.673_7)).abs() < 1e-4, "{errors:?}");
    assert_eq!(
        (errors.share_error(FuncId(3)), errors.share_error(FuncId(9))),
        (samples.error(0.0), samples.error(0.0))
    );
    assert_eq!(errors.max(), errors.share_error(FuncId(2)));
    let mut runs = Vec::new();
    profile.each_run(|run| {
        let flat = FlatProfile::new(&run.tree, &run.symbols, &run.header, None);
        runs.push((run.calls(), flat.self_nanos, flat.rows[0].calls));
    });
    assert_eq!(runs, [(1008, 900.0, 1000), (1010, 920.0, 1000), (1012, 940.0, 1000)]);
}

/// The last run's counts are those of a program that was interrupted.
#[test]
fn a_run_that_fails_is_in_no_mean() {
    let runs = |outcome, count: u64| {
        let header = Header { repeated: true, ..Header::default() };
        read(&trace_that_ended(header, outcome, |writer| {
            for run in 0..count {
                writer.window(&window(0, run * 10_000, &[])).unwrap();
                let calls = [(0, 1), (2, if run + 1 == count { 3 } else { 1000 })];
                writer.window(&window(0, run * 10_000 + 1000, &calls)).unwrap();
            }
        }))
    };
    let calls = |profile: &Profile| (profile.calls(), profile.runs().map_or(0, <[_]>::len));
    assert_eq!(calls(&runs("completed", 3)), (669, 3));
    assert_eq!(calls(&runs("interrupted by SIGINT", 3)), (1001, 2));
    assert_eq!(calls(&runs("interrupted by SIGINT", 1)), (4, 1));
}

#[test]
fn what_is_left_out_is_its_caller_s() {
    let bytes = two_windows();
    let keep = |symbols: &Symbols, func| symbols.name(func) != "step";
    let profile = read_filtered(&bytes, &CallFilter { keep: &keep, ..CallFilter::default() });
    assert_eq!(
        tree(&profile),
        "\
main: 1 call, total 1800, self 600
  leaf: 1003 calls, total 1200, self 1200, min 1, max 1
[unseen]: 0 calls, total 0, self 0
  rare: 2 calls, total 0, self 0, min 0, max 0
"
    );
    assert_eq!((profile.calls(), profile.hidden_calls), (1006, 7));
    let profile = read_filtered(&bytes, &CallFilter { depth: Some(2), ..CallFilter::default() });
    assert_eq!(
        tree(&profile),
        "\
main: 1 call, total 1800, self 200
  step: 7 calls, total 1300, self 1300, min 185, max 185
  leaf: 251 calls, total 300, self 300, min 1, max 1
"
    );
    assert_eq!((profile.calls(), profile.hidden_calls), (259, 754));
    let lanes = vec!["1".parse().unwrap()];
    let profile = read_filtered(&bytes, &CallFilter { lanes, ..CallFilter::default() });
    assert_eq!((tree(&profile).as_str(), profile.calls(), profile.hidden_calls), ("", 0, 1013));
}

/// Three windows of a lane and one of another, as the command line's tests have them.
fn four_windows() -> Vec<u8> {
    let short = Window {
        start_ticks: 2000,
        end_ticks: 2300,
        period_nanos: 10,
        span_min_nanos: 100,
        samples: 30,
        idle_ticks: 200,
        squares: 1000.0,
        nodes: vec![node(None, 0, 10, 100)],
        calls: vec![(FuncId(0), 2)],
        ..Window::default()
    };
    trace(|writer| {
        writer.window(&window(0, 0, &[(0, 1), (1, 7), (2, 1000)])).unwrap();
        writer.window(&window(1, 500, &[(0, 1), (1, 8), (2, 9)])).unwrap();
        writer.window(&window(0, 1000, &[(2, 3), (3, 2)])).unwrap();
        writer.window(&short).unwrap();
    })
}

#[test]
fn windows_can_be_taken_one_by_one() {
    let bytes = four_windows();
    let of = |windows| read_filtered(&bytes, &CallFilter { windows, ..CallFilter::default() });
    let told = |windows| {
        let profile = of(windows);
        let sampling = profile.sampling().unwrap();
        (profile.calls(), sampling.windows, sampling.max_windows, sampling.busy_ticks, sampling.range)
    };
    assert_eq!(told(WindowChoice::Sum), (1033, 4, 3, 2800, Some((0, 2300))));
    // Each lane has its own.
    assert_eq!(told(WindowChoice::Last), (20, 2, 3, 1000, Some((500, 2300))));
    assert_eq!(told(WindowChoice::Nth(1)), (1026, 2, 3, 1800, Some((0, 1500))));
    assert_eq!(told(WindowChoice::Nth(2)), (5, 1, 3, 900, Some((1000, 2000))));
    assert_eq!(told(WindowChoice::Nth(4)), (0, 0, 3, 0, None));
    let each = of(WindowChoice::Each);
    assert_eq!(tree(&each), tree(&of(WindowChoice::Sum)));
    let windows: Vec<_> = each
        .windows
        .iter()
        .map(|window| (window.lane.recorder, window.number, window.start_ticks, window.sampling.busy_ticks))
        .collect();
    assert_eq!(windows, [(0, 1, 0, 900), (1, 1, 500, 900), (0, 2, 1000, 900), (0, 3, 2000, 100)]);
    let calls = |window: usize| each.windows[window].tree.nodes().iter().map(|node| node.calls).sum::<u64>();
    assert_eq!([0, 1, 2, 3].map(calls), [1008, 18, 5, 2]);
    assert!(of(WindowChoice::Last).windows.is_empty());
}

/// `BLESS=1` writes it anew.
#[test]
fn the_golden_trace_is_made_here() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/windows.trace");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, four_windows()).unwrap();
    }
    assert!(std::fs::read(path).unwrap() == four_windows());
}

#[derive(Default)]
struct Seen(Vec<(u32, u64)>);

impl CallObserver for Seen {
    fn call(&mut self, call: &Call) {
        self.0.push((call.func.0, call.ticks()));
    }
}

#[test]
fn slow_calls_are_seen_and_counted_once() {
    let words =
        [Word::Time(100), Word::Enter(0), Word::Time(50), Word::Enter(1), Word::Time(300), Word::Leave];
    let rest = [Word::Time(50), Word::Unwind { depth: 0, reason: Reason::Trap }];
    let block = |depth: u32, start_ticks: u64, words: &[Word]| {
        let mut block = BlockHeader { stack: 0, depth, start_ticks }.to_bytes().to_vec();
        block.extend(words.iter().flat_map(|word| word.encode().to_le_bytes()));
        block
    };
    let bytes = trace(|writer| {
        writer.spans(3, &block(0, 0, &words)).unwrap();
        writer.window(&window(3, 0, &[(0, 1), (1, 7), (2, 1000)])).unwrap();
        // Another recorder's calls are all told.
        writer
            .block(
                4,
                &block(0, 0, &[Word::Enter(0), Word::Time(10), Word::Enter(4), Word::Leave, Word::Leave]),
            )
            .unwrap();
        writer.spans(3, &block(1, 450, &rest)).unwrap();
    });
    let (profile, seen) =
        Profile::read_observed(TraceReader::new(&bytes[..]).unwrap(), Seen::default(), None, |_| ()).unwrap();
    assert_eq!(seen.0, [(1, 300), (4, 0), (0, 10), (0, 400)]);
    assert_eq!(
        tree(&profile),
        "\
main: 2 calls, total 910, self 110, min 10, max 900
  step: 7 calls, total 650, self 200, min 92, max 92
    leaf: 750 calls, total 450, self 450, min 0, max 0
  leaf: 250 calls, total 150, self 150, min 0, max 0
  never: 1 call, total 0, self 0
"
    );
    assert_eq!((profile.calls(), profile.health.counts.spans), (1010, 2));
    let lanes: Vec<_> = profile.lanes.iter().map(|lane| (lane.id.recorder, lane.calls)).collect();
    assert_eq!(lanes, [(3, 1008), (4, 2)]);
    assert_eq!(profile.health.warnings(), Vec::<String>::new());
}

#[test]
fn samples_that_say_nothing_are_told() {
    let bytes = trace(|writer| {
        writer.window(&Window { torn: 5, cut: 1, ..window(0, 0, &[(0, 1)]) }).unwrap();
    });
    assert_eq!(
        read(&bytes).health.warnings(),
        [
            "5 samples of 105 did not see which calls were open: the next ones count for them",
            "the path of 1 sample was deeper, or one more, than is kept: they count for its outer part"
        ]
    );
}

/// Wilson's interval for some known cases, and what weights do to it.
#[test]
fn errors_are_those_of_wilson_s_interval() {
    let even =
        |samples: f64| Sampling { busy_ticks: samples as u64, squares: samples, ..Sampling::default() };
    let error = |samples: f64, share: f64| (even(samples).error(share) * 1e4).round() / 1e4;
    // 0.5 of 100: 0.4038 to 0.5962; 0 of 10: 0 to 0.2775.
    assert_eq!([error(100.0, 0.5), error(10.0, 0.0), error(10_000.0, 0.2)], [0.0962, 0.1388, 0.0078]);
    assert_eq!(Sampling::default().error(0.5), 1.0);
    // Half of the time in one sample, the rest in a hundred: three or four samples' worth.
    let uneven = Sampling { busy_ticks: 200, squares: 100.0 * 100.0 + 100.0, ..Sampling::default() };
    assert!((uneven.effective_samples() - 3.96).abs() < 0.01);
}

#[test]
fn a_profile_that_grows_is_in_the_end_what_is_read_at_once() {
    let bytes = two_windows();
    let mut reader = TraceReader::new(&bytes[..]).unwrap();
    let mut growing = GrowingProfile::default();
    let mut calls = vec![growing.profile(&reader).calls()];
    while let Some(item) = reader.next().unwrap() {
        growing.push(&item);
        calls.push(growing.profile(&reader).calls());
    }
    // Symbols, both windows, the end.
    assert_eq!(calls, [0, 0, 1008, 1013, 1013]);
    assert_eq!(format!("{:?}", growing.profile(&reader)), format!("{:?}", read(&bytes)));
}

#[test]
fn counts_of_paths_are_exact_and_have_no_samples() {
    let tree = |start_ticks, node_calls: &[u64]| Window {
        period_nanos: 0,
        samples: 0,
        squares: 0.0,
        calls: Vec::new(),
        node_calls: node_calls.to_vec(),
        ..window(0, start_ticks, &[])
    };
    let bytes = trace(|writer| {
        writer.window(&tree(0, &[1, 7, 1, 1000])).unwrap();
        writer.window(&tree(1000, &[0, 3, 5, 0])).unwrap();
    });
    let profile = read(&bytes);
    let counts: Vec<_> =
        profile.tree.iter().map(|(_, node)| (node.func.0, node.calls, node.self_ticks)).collect();
    assert_eq!(counts, [(0, 1, 200), (1, 10, 400), (2, 6, 900), (2, 1000, 300)]);
    assert_eq!((profile.calls(), profile.hidden_calls), (1017, 0));
    assert!(profile.precision(1000.0).is_none(), "there is no error of samples");
    let text = kperf_profile::times_text(&profile);
    assert!(text.contains("counts of paths are exact"), "{text}");
}
