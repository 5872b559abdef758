//! Health and hints of profiles.

use crate::support::{Names, block, completed, reader, simple, trace};
use kperf_abi::block::BlockHeader;
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{FuncId, FuncIndex, Symbol, SymbolTable};
use kperf_profile::{FlatProfile, Profile, hints};
use kperf_trace::{
    ClockKind, Header, Preempted, ProbeCost, Stall, StallKind, StallTotal, Summary, TickTotal, TraceWriter,
    Waits,
};

fn profile(file: &[u8]) -> Profile {
    Profile::read(reader(file), |_| ()).expect("from memory")
}

#[test]
fn a_sound_trace_has_nothing_to_tell() {
    let file = simple("10 main{ 500 step{ 10 } }");
    let mut seen = 0;
    let profile = Profile::read(reader(&file), |bytes| seen = bytes).expect("from memory");
    assert_eq!(profile.health.warnings(), [""; 0]);
    assert_eq!((profile.health.outcome(), profile.health.cut_short()), (Some("completed"), vec![]));
    assert_eq!((profile.calls(), profile.lanes.len(), profile.wall_nanos()), (2, 1, 520));
    assert_eq!((seen, profile.bytes), (file.len() as u64, file.len() as u64));
    assert_eq!(profile.symbols.tables().len(), 1);
    let tree = profile.tree.display(&profile.symbols).to_string();
    assert_eq!(tree, "main: 1 call, total 510, self 500\n  step: 1 call, total 10, self 10\n");
}

#[test]
fn a_trace_that_was_cut_off_has_its_calls_all_the_same() {
    let profile = profile(&trace(&[(0, BlockHeader::default(), "main{ 500 step{ 10")], None));
    let warnings = profile.health.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("the recording was cut off"), "{warnings:?}");
    assert_eq!((profile.health.outcome(), profile.health.cut_short()), (None, vec![("cut off", 2)]));
}

#[test]
fn losses_and_stalls_are_counted() {
    let mut names = Names::default();
    let start = BlockHeader::default();
    let mut header = Header::default();
    header.clock.no_ticker = Some("its worker was refused".to_owned());
    let mut writer = TraceWriter::new(Vec::new(), &header).expect("to memory");
    writer.block(0, &block(&mut names, start, "main{ 5 a{ 5 caught>1")).expect("to memory");
    writer.lost(0, 12).expect("to memory");
    let later = BlockHeader { depth: 3, start_ticks: 100, ..start };
    writer.block(0, &block(&mut names, later, "5 } } trap>0")).expect("to memory");
    for (kind, nanos) in [(StallKind::Ticker, 1_500), (StallKind::Writer, 2_000), (StallKind::Writer, 3_000)]
    {
        writer.stall(Stall { kind, recorder: None, start_ticks: 1, nanos }).expect("to memory");
    }
    let ticker_stalls = StallTotal { count: 3, nanos: 9_000, longest_nanos: 4_000 };
    let summary =
        Summary { outcome: "trap: unreachable".into(), dropped_events: 14, ticker_stalls, ..completed() };
    let profile = profile(&writer.finish(&summary).expect("to memory"));
    assert_eq!(
        profile.health.warnings(),
        [
            "14 events were lost, in 1 gap",
            "2 calls are of a function that is not known ([lost])",
            "there was no ticker, and each event read the clock itself, which costs more: its worker was refused",
            "the clock stood still 3 times, 9.000 us in all, 4.000 us at most: times are coarse there",
            "the guest waited for the trace to be written 2 times, 5.000 us in all, 3.000 us at most: that is in the \
             times of what ran",
        ]
    );
    assert_eq!(profile.health.outcome(), Some("trap: unreachable"));
    assert_eq!(profile.health.cut_short(), [("unwound", 1), ("trap", 1)]);
}

#[test]
fn nonsense_is_told_up_to_a_limit() {
    let profile = profile(&simple(&"} ".repeat(100)));
    let warnings = profile.health.warnings();
    assert_eq!(warnings.len(), 17);
    assert_eq!(warnings[0], "lane 0: a leave without an open frame at tick 0");
    assert_eq!(warnings[16], "and 84 more places like these");
}

#[test]
fn a_trace_cut_anywhere_is_profiled() {
    let file = simple("main{ 500 step{ 10 } mark=7 a{ caught>1 }");
    for length in 8..file.len() {
        let profile = profile(&file[..length]);
        assert!(!profile.health.warnings().is_empty(), "cut at {length} and nothing told");
        assert!(profile.calls() == 0 || profile.calls() == 3);
    }
}

#[test]
fn a_block_that_claims_a_million_open_frames_costs_little() {
    let deep = BlockHeader { depth: u32::MAX, ..BlockHeader::default() };
    let profile = profile(&trace(&[(0, deep, "} main{ 5 }")], Some(&completed())));
    assert_eq!(profile.calls(), 1);
    assert_eq!(
        (profile.tree.nodes().len(), profile.health.counts.without_enter),
        (1 + (1 << 14) + 1, 1 << 14)
    );
    assert_eq!(
        profile.health.warnings(),
        [
            "lane 0: a block says 4294967295 frames are open where 0 are, at tick 0",
            "16384 calls are of a function that is not known ([lost])",
        ]
    );
}

/// The hints of a trace.
fn hinted(header: &Header, events: &str, summary: Option<Summary>, cut: usize) -> Vec<String> {
    let mut names = Names::default();
    let mut writer = TraceWriter::new(Vec::new(), header).expect("to memory");
    writer.block(0, &block(&mut names, BlockHeader::default(), events)).expect("to memory");
    writer.symbols(&names.table().to_bytes()).expect("to memory");
    let mut file = writer.finish(&summary.unwrap_or_else(completed)).expect("to memory");
    file.truncate(file.len() - cut);
    let profile = profile(&file);
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    hints(&profile, &flat, false)
}

#[test]
fn what_to_do_about_figures_that_say_little() {
    let plain = Header::default();
    assert_eq!(hinted(&plain, "10 main{ 500 step{ 10 } }", None, 0), [""; 0]);
    let cut = hinted(&plain, "10 main{ 500 step{ 10 } }", None, 3);
    assert!(cut.len() == 1 && cut[0].contains("--record profile --every 1s"), "{cut:?}");
    let dropped = Summary { dropped_events: 14, ..completed() };
    let lost = hinted(&plain, "main{ 5 }", Some(dropped), 0);
    assert!(lost.len() == 1 && lost[0].contains("--only PATTERN"), "{lost:?}");

    let probe_cost = Some(ProbeCost { inside_nanos: 10.0, outside_nanos: 20.0 });
    let costly = Header { probe_cost, ..Header::default() };
    let probes = |events| hinted(&costly, events, None, 0);
    assert_eq!(probes("main{ 500 step{ 10 } }"), [""; 0]);
    let took = probes("main{ 5 step{ 100 } }");
    assert!(took.len() == 1 && took[0].starts_with("the probes took some 57 % of the time"), "{took:?}");
    assert!(took[0].contains("--record profile") && took[0].contains("--compensate"), "{took:?}");

    let mut ticker = costly.clone();
    ticker.clock.kind = ClockKind::Ticker;
    let ticks = |gaps: u64| {
        let mut ticks = TickTotal::default();
        (0..gaps).for_each(|_| ticks.add(100, 100));
        Some(Summary { ticks, ..completed() })
    };
    let few = hinted(&ticker, "main{ 5000 step{ 100 } }", ticks(51), 0);
    assert!(few.len() == 1 && few[0].contains("51 ticks") && few[0].contains("--clock precise"), "{few:?}");
    assert_eq!(hinted(&ticker, "main{ 50000 step{ 100 } }", ticks(501), 0), [""; 0]);

    let stalled = StallTotal { count: 3, nanos: 40_000, longest_nanos: 20_000 };
    let busy = Summary { ticker_stalls: stalled, ..ticks(501).unwrap_or_default() };
    let busy = hinted(&ticker, "main{ 50000 step{ 100 } }", Some(busy), 0);
    assert!(busy.len() == 1 && busy[0].starts_with("the machine was busy for 80 % of the run"), "{busy:?}");
    assert!(busy[0].contains("--clock instructions"), "{busy:?}");
    // Others had the processor for 20 ms of 50; the ticker ran meanwhile.
    let preempted = |nanos| Summary {
        preempted: Some(Preempted { count: 9, nanos, threads: 1 }),
        ..ticks(500_010).unwrap_or_default()
    };
    let long = "main{ 50000000 step{ 100 } }";
    let busy = hinted(&ticker, long, Some(preempted(20_000_000)), 0);
    assert!(busy.len() == 1 && busy[0].starts_with("the machine was busy for 40 % of the run"), "{busy:?}");
    assert_eq!(hinted(&ticker, long, Some(preempted(10_000_000)), 0), [""; 0]);
    assert_eq!(hinted(&ticker, "", Some(preempted(20_000_000)), 0), [""; 0]);
    // These 20 ms are in no self time.
    let known = |waits| hinted(&ticker, long, Some(Summary { waits, ..preempted(20_000_000) }), 0).len();
    assert_eq!([Waits::Exact, Waits::Estimated].map(known), [0, 1]);
    // On one processor the recorder's own threads take it from the guest.
    let mut alone = ticker.clone();
    alone.clock.period_nanos = Some(1_000_000);
    let busy = |cpu| {
        let had = Summary { cpu_nanos: Some(cpu), ..preempted(20_000_000) };
        let mut hints = hinted(&alone, long, Some(had), 0);
        hints.retain(|hint| hint.starts_with("the machine was busy"));
        hints
    };
    assert_eq!(busy(45_000_000), [""; 0]);
    assert!(busy(30_000_000)[0].starts_with("the machine was busy for 40 % of the run"));
    let mut counted = ticker.clone();
    counted.clock.kind = ClockKind::Instructions;
    assert_eq!(hinted(&counted, long, Some(preempted(20_000_000)), 0), [""; 0]);
}

#[test]
fn functions_without_names_are_said() {
    let symbol = |id: u32, unnamed| Symbol {
        id: FuncId(id),
        func_index: FuncIndex(id),
        name: format!("func[{id}]").into(),
        unnamed,
        ..Symbol::default()
    };
    let with = |module: &str, unnamed| {
        let table = SymbolTable {
            module: ModuleIdentity { name: module.into(), ..ModuleIdentity::default() },
            id_base: 1,
            symbols: vec![symbol(1, false), symbol(2, unnamed)],
            ..SymbolTable::default()
        };
        let mut names = Names::default();
        let mut writer = TraceWriter::new(Vec::new(), &Header::default()).expect("to memory");
        writer.symbols(&table.to_bytes()).expect("to memory");
        writer.block(0, &block(&mut names, BlockHeader::default(), "a{ 10 b{ 50 } }")).expect("to memory");
        let profile = profile(&writer.finish(&completed()).expect("to memory"));
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
        hints(&profile, &flat, false)
    };
    assert_eq!(with("app", false), [""; 0]);
    let stripped = with("app", true);
    assert!(stripped.len() == 1 && stripped[0].starts_with("1 of 2 functions have no name"), "{stripped:?}");
    assert!(stripped[0].contains("--symbols FILE"), "{stripped:?}");
    let in_component = with("app/main", true);
    assert!(
        in_component.len() == 1 && !in_component[0].contains("--"),
        "it takes no such file: {in_component:?}"
    );
}
