//! Which span a sample of a profile links to: the parent that the trace names for the host's call.

use crate::common::{Names, block};
use kperf_abi::block::BlockHeader;
use kperf_abi::{FuncId, Symbol, SymbolTable};
use kperf_otlp::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
use kperf_otlp::{Limits, ProfileOptions, TraceContext, profiles};
use kperf_profile::{CallFilter, MAX_PATHS, Profile, Symbols};
use kperf_trace::{CallParent, Header, Summary, TraceReader, TraceWriter, Window, WindowNode};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

fn context(n: u64) -> TraceContext {
    TraceContext::parse(&format!("00-0af7651916cd43dd8448eb211c80319c-{n:016x}-01"), "").unwrap()
}

/// Each path's value of one kind, by the span that it links to (0 for none) and the path.
fn linked(profile: &Profile, options: &ProfileOptions, kind: &str) -> BTreeMap<(u64, String), i64> {
    let mut values = BTreeMap::new();
    profiles(profile, options, |request| {
        let decoded = ExportProfilesServiceRequest::decode(&request.body[..]).unwrap();
        let dictionary = decoded.dictionary.unwrap();
        let stacks: BTreeSet<_> =
            dictionary.stack_table.iter().map(|stack| &stack.location_indices).collect();
        assert_eq!(stacks.len(), dictionary.stack_table.len(), "a path is there once");
        for profile in &decoded.resource_profiles[0].scope_profiles[0].profiles {
            if dictionary.string_table[profile.sample_type.unwrap().type_strindex as usize] != kind {
                continue;
            }
            for sample in &profile.samples {
                let stack = &dictionary.stack_table[sample.stack_index as usize].location_indices;
                let name = |&location: &i32| {
                    let location = &dictionary.location_table[location as usize];
                    let function = &dictionary.function_table[location.lines[0].function_index as usize];
                    dictionary.string_table[function.name_strindex as usize].clone()
                };
                let path = stack.iter().rev().map(name).collect::<Vec<_>>().join(";");
                let link = &dictionary.link_table[sample.link_index as usize];
                let span = u64::from_be_bytes(link.span_id[..].try_into().unwrap());
                let before = values.insert((span, path), sample.values[0]);
                assert_eq!(before, None, "a path of a span comes once");
            }
        }
        Ok::<_, ()>(())
    })
    .unwrap();
    values
}

fn read(file: &[u8], filter: Option<&CallFilter<'_>>) -> Profile {
    Profile::read_linked(TraceReader::new(file).unwrap(), filter, |_| ()).unwrap()
}

/// What a host does: calls on a stack, or a parent for the next calls of a stack or of all stacks.
enum Step<'a> {
    Calls(u32, &'a str),
    Parent(Option<u32>, Option<u64>),
}
use Step::{Calls, Parent};

fn file(header: &Header, steps: &[Step<'_>]) -> Vec<u8> {
    let mut names = Names::default();
    let mut ticks = 0;
    let blocks: Vec<Option<Vec<u8>>> = steps
        .iter()
        .map(|step| match step {
            Calls(stack, text) => {
                ticks += 1_000_000;
                Some(block(&mut names, BlockHeader { stack: *stack, depth: 0, start_ticks: ticks }, text))
            }
            Parent(..) => None,
        })
        .collect();
    let mut writer = TraceWriter::new(Vec::new(), header).unwrap();
    writer.symbols(&names.table().to_bytes()).unwrap();
    for (step, block) in steps.iter().zip(blocks) {
        match (step, block) {
            (Parent(stack, parent), _) => {
                let context = parent.map(context);
                writer.parent(&CallParent { recorder: 0, stack: *stack, context }).unwrap();
            }
            (Calls(..), block) => writer.block(0, &block.unwrap()).unwrap(),
        }
    }
    writer.finish(&Summary::default()).unwrap()
}

#[test]
fn samples_link_to_the_parent_of_their_call() {
    let steps = [
        Calls(0, "main{ 1 step{ 2 } }"),
        Parent(Some(0), Some(7)),
        Calls(0, "main{ 10 step{ 20 } } main{ 30 }"),
        Calls(3, "main{ 100 }"),
        Parent(None, Some(8)),
        Calls(3, "main{ 200 step{ 400 } }"),
        Parent(Some(0), Some(7)),
        Calls(0, "main{ 1000 }"),
        Parent(Some(0), None),
        Calls(0, "main{ 5000 }"),
    ];
    let whole = read(&file(&Header::default(), &steps), None);
    let values = linked(&whole, &ProfileOptions::default(), "wall");
    let texts = |values: &BTreeMap<(u64, String), i64>| {
        values.iter().map(|((span, path), value)| format!("{span} {path} {value}")).collect::<Vec<_>>()
    };
    let expected =
        ["0 main 5101", "0 main;step 2", "7 main 1040", "7 main;step 20", "8 main 200", "8 main;step 400"];
    assert_eq!(texts(&values), expected);
    // However requests are cut.
    let limits = Limits { spans: 2, ..Limits::default() };
    assert_eq!(linked(&whole, &ProfileOptions { limits, ..ProfileOptions::default() }, "wall"), values);
    // What the trace says of a call holds for it, what it says of the run for the others, and a flag replaces the latter.
    let header = Header { parent: Some(context(5)), ..Header::default() };
    let of_run = read(&file(&header, &steps), None);
    for (parent, span) in [(None, 5), (Some(context(6)), 6)] {
        let options = ProfileOptions { parent, ..ProfileOptions::default() };
        let expected = values
            .iter()
            .map(|((of, path), &value)| ((if *of == 0 { span } else { *of }, path.clone()), value));
        assert_eq!(linked(&of_run, &options, "wall"), expected.collect());
    }
}

/// A filter tells of calls late, or of what was inside others.
#[test]
fn samples_link_to_the_parent_of_their_call_behind_a_filter() {
    // The second block begins inside the calls of the first, which stay where they are.
    let bytes = {
        let mut names = Names::default();
        let first =
            block(&mut names, BlockHeader { stack: 0, depth: 0, start_ticks: 0 }, "main{ 10 step{ 20");
        let second = block(
            &mut names,
            BlockHeader { stack: 0, depth: 2, start_ticks: 30 },
            "} step{ 40 } } main{ 100 step{ 300 } }",
        );
        let mut writer = TraceWriter::new(Vec::new(), &Header::default()).unwrap();
        writer.symbols(&names.table().to_bytes()).unwrap();
        let parent = |n| CallParent { recorder: 0, stack: None, context: Some(context(n)) };
        writer.parent(&parent(7)).unwrap();
        writer.block(0, &first).unwrap();
        writer.parent(&parent(8)).unwrap();
        writer.block(0, &second).unwrap();
        writer.finish(&Summary::default()).unwrap()
    };
    let keep_step = |symbols: &Symbols, func| symbols.name(func) == "step";
    let filters: [(CallFilter<'_>, &[&str]); 3] = [
        (CallFilter::default(), &["7 main 1", "7 main;step 2", "8 main 1", "8 main;step 1"]),
        (CallFilter { min_nanos: 50, ..CallFilter::default() }, &["7 main 1", "8 main 1", "8 main;step 1"]),
        (CallFilter { keep: &keep_step, ..CallFilter::default() }, &["7 step 2", "8 step 1"]),
    ];
    for (filter, expected) in filters {
        let values = linked(&read(&bytes, Some(&filter)), &ProfileOptions::default(), "calls");
        let texts: Vec<_> =
            values.iter().map(|((span, path), value)| format!("{span} {path} {value}")).collect();
        assert_eq!(texts, expected, "{filter:?}");
    }
}

/// Memory has a bound: what is beyond has no link, and nothing else is missing.
#[test]
fn too_many_parents_leave_the_figures_as_they_are() {
    const CALLS: u64 = MAX_PATHS as u64 / 2 + 5_000;
    let mut names = Names::default();
    let call = block(&mut names, BlockHeader { stack: 0, depth: 0, start_ticks: 0 }, "main{ 1 step{ 2 } }");
    let mut writer = TraceWriter::new(Vec::new(), &Header::default()).unwrap();
    writer.symbols(&names.table().to_bytes()).unwrap();
    for n in 0..CALLS {
        writer.parent(&CallParent { recorder: 0, stack: Some(0), context: Some(context(n + 1)) }).unwrap();
        writer.block(0, &call).unwrap();
    }
    let bytes = writer.finish(&Summary::default()).unwrap();
    let profile = read(&bytes, None);
    let without = profile.health.over_limit.links;
    assert!(without > 0 && without < CALLS, "{without}");
    assert!(profile.health.warnings().iter().any(|warning| warning.contains("too many spans")));
    assert!(profile.tree.nodes().len() <= MAX_PATHS);
    let values = linked(&profile, &ProfileOptions::default(), "calls");
    assert_eq!(values.values().sum::<i64>() as u64, 2 * CALLS);
    assert_eq!(values[&(0, "main;step".into())] as u64, without);
    assert_eq!(values[&(1, "main".into())], 1);
}

/// Two requests, each in an instance of its own, and calls that are nobody's.
#[test]
fn samples_of_a_window_link_to_the_parent_of_all_of_its_calls() {
    let node = |parent, func, self_ticks| WindowNode { parent, func: FuncId(func), samples: 1, self_ticks };
    let window = |recorder, parent: Option<u64>, self_ticks, calls: &[(u32, u64)]| Window {
        recorder,
        end_ticks: 5_000_000,
        samples: 2,
        nodes: vec![node(None, 0, self_ticks), node(Some(0), 1, 2 * self_ticks)],
        calls: calls.iter().map(|&(func, calls)| (FuncId(func), calls)).collect(),
        parent: parent.map(|n| (&context(n)).into()),
        ..Window::default()
    };
    let symbol = |id, name: &str| Symbol { id: FuncId(id), name: name.into(), ..Symbol::default() };
    let symbols = vec![symbol(0, "main"), symbol(1, "step"), symbol(2, "quick")];
    let mut writer = TraceWriter::new(Vec::new(), &Header::default()).unwrap();
    writer.symbols(&SymbolTable { symbols, ..SymbolTable::default() }.to_bytes()).unwrap();
    writer.window(&window(0, Some(7), 1_000, &[(0, 1), (1, 30), (2, 4)])).unwrap();
    writer.window(&window(1, Some(8), 100_000, &[(0, 2), (1, 5)])).unwrap();
    writer.window(&window(2, None, 10_000_000, &[(0, 3), (1, 6), (2, 7)])).unwrap();
    writer.window(&window(3, Some(7), 2_000, &[(0, 1), (1, 10)])).unwrap();
    let bytes = writer.finish(&Summary::default()).unwrap();

    let texts = |values: BTreeMap<(u64, String), i64>| {
        values.into_iter().map(|((span, path), value)| format!("{span} {path} {value}")).collect::<Vec<_>>()
    };
    let options = ProfileOptions::default();
    let whole = read(&bytes, None);
    let times = [
        "0 main 10000000",
        "0 main;step 20000000",
        "7 main 3000",
        "7 main;step 6000",
        "8 main 100000",
        "8 main;step 200000",
    ];
    assert_eq!(texts(linked(&whole, &options, "wall")), times);
    // Counts are those of each request, not guessed from the times of all.
    let calls = [
        "0 [unseen];quick 7",
        "0 main 3",
        "0 main;step 6",
        "7 [unseen];quick 4",
        "7 main 2",
        "7 main;step 40",
        "8 main 2",
        "8 main;step 5",
    ];
    assert_eq!(texts(linked(&whole, &options, "calls")), calls);
    assert_eq!(whole.calls(), 69);
    let without_main = |symbols: &Symbols, func| symbols.name(func) != "main";
    let filter = CallFilter { keep: &without_main, ..CallFilter::default() };
    let steps = ["0 step 20000000", "7 step 6000", "8 step 200000"];
    assert_eq!(texts(linked(&read(&bytes, Some(&filter)), &options, "wall")), steps);
}
