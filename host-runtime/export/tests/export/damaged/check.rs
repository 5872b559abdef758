//! What must hold of any chunks of a trace: shared by the test beside this file and the fuzz target `traces`.

use kperf_export::formats::{chrome, csv, folded, kieker, kperf, speedscope};
use kperf_export::{ReplayOptions, graph, replay, view};
use kperf_profile::{
    CallFilter, CallGraph, FlatProfile, GrowingProfile, Heap, Metric, Profile, ProfileDiff, Range, Sample,
    Slices, Timeline, write_json,
};
use kperf_trace::TraceReader;
use std::io::{self, sink};

/// The kinds of chunks, in the order of their numbers here.
pub(crate) const KINDS: [&[u8; 4]; 9] =
    [b"PROF", b"SPAN", b"EVTS", b"SYMS", b"HEAD", b"PRNT", b"LOST", b"STAL", b"ENDT"];

/// What was found, so that a test sees that its bytes get somewhere.
#[derive(Clone, Copy, Debug, Default)]
#[allow(dead_code, reason = "the fuzz target doesn't count")]
pub(crate) struct Found {
    pub(crate) nodes: usize,
    pub(crate) calls: u64,
    pub(crate) anomalies: usize,
}

/// A trace of chunks with the right checksums. Each takes its kind (one byte), its recorder (one), the payload's length
/// (two, the lower first) and the payload.
pub(crate) fn trace(mut bytes: &[u8]) -> Vec<u8> {
    let mut file = b"KPERF\0\x01\0".to_vec();
    chunk(b"HEAD", 0, 0, b"{}", &mut file);
    let mut sequences = [0; 256];
    while let Some(&[kind, recorder, low, high]) = bytes.split_off(..4) {
        let length = usize::from(low) + 256 * usize::from(high);
        let payload = bytes.split_off(..length.min(bytes.len())).unwrap_or_default();
        let kind = KINDS[usize::from(kind) % KINDS.len()];
        let sequence = &mut sequences[usize::from(recorder)];
        chunk(kind, recorder.into(), *sequence, payload, &mut file);
        *sequence += 1;
    }
    file
}

fn chunk(kind: &[u8; 4], recorder: u32, sequence: u32, payload: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(b"\xf5kpf");
    out.extend(kind);
    for number in [recorder, sequence, payload.len() as u32, crc32fast::hash(payload)] {
        out.extend(number.to_le_bytes());
    }
    let checksum = crc32fast::hash(&out[start..]);
    out.extend(checksum.to_le_bytes());
    out.extend(payload);
}

/// Reads a trace in every way there is. Panics where one does.
pub(crate) fn check(file: &[u8]) -> Found {
    let open = || TraceReader::new(file);
    let Ok(profile) = open().and_then(|reader| Ok(Profile::read(reader, |_| ())?)) else {
        return Found::default();
    };
    let all = CallFilter::default();
    let few = CallFilter {
        keep: &|symbols, func| symbols.name(func).len() % 3 != 1,
        depth: Some(3),
        min_nanos: 100,
        range: Range { start_nanos: 10, end_nanos: 2_000 },
        ..CallFilter::default()
    };
    for filter in [&all, &few] {
        let observers = (Timeline::new(1_000), Slices::new(500));
        let (profile, observers) =
            Profile::read_observed(open().expect("a trace"), observers, Some(filter), |_| ())
                .expect("no IO fails");
        reports(&profile, observers);
        calls(&open, &profile, filter);
    }
    let mut growing = GrowingProfile::default();
    let mut reader = open().expect("a trace");
    while let Ok(Some(item)) = reader.next() {
        growing.push(&item);
    }
    let grown = growing.profile(&reader);
    assert_eq!(grown.tree.iter().count(), profile.tree.iter().count());
    let anomalies = reader.anomalies().len();
    Found { nodes: profile.tree.iter().count(), calls: profile.calls(), anomalies }
}

/// Everything that is made of a profile.
fn reports(profile: &Profile, observers: (Timeline, Slices)) {
    let Profile { tree, symbols, header, .. } = profile;
    let flat = FlatProfile::new(tree, symbols, header, header.probe_cost.as_ref());
    assert!(flat.rows.iter().all(|row| row.share.is_finite() && row.self_nanos.is_finite()));
    let rows: Vec<_> = flat.rows.iter().collect();
    write_json(profile, &flat, &rows, None, false, &mut sink()).expect("to nowhere");
    CallGraph::new(tree, symbols, header, None);
    for tree in [false, true] {
        let options = graph::Options { min_share: 0.0, tree, ..graph::Options::default() };
        let picture = graph::picture(profile, &options);
        graph::dot(&picture, sink()).expect("to nowhere");
        graph::mermaid(&picture, sink()).expect("to nowhere");
    }
    for weight in [folded::Weight::Nanos, folded::Weight::Calls] {
        folded::write(profile, weight, sink()).expect("to nowhere");
    }
    let sample = || Sample::by_function(profile, None, |func| profile.symbols.label(func));
    ProfileDiff::new(&[sample()], &[sample(), sample()], Metric::SelfTime);
    view::write_html(profile, (observers, Heap::default()), "title", sink()).expect("to nowhere");
    assert!(profile.health.warnings().iter().all(|warning| !warning.to_string().is_empty()));
}

/// Everything that is written call by call.
fn calls<'t>(
    open: &impl Fn() -> Result<TraceReader<&'t [u8]>, kperf_trace::Error>,
    profile: &Profile,
    filter: &CallFilter<'_>,
) {
    let reader = || open().expect("a trace");
    let options = ReplayOptions { filter: filter.clone(), lanes: true, resolution_nanos: None };
    replay(reader(), &options, sink(), |_| ()).expect("to nowhere");
    chrome::write(reader(), filter, "p", sink(), |_| ()).expect("to nowhere");
    csv::write(reader(), filter, sink(), |_| ()).expect("to nowhere");
    kieker::write_records(reader(), filter, "p", sink(), |_| ()).expect("to nowhere");
    kperf::write_traces(reader(), filter, &kperf::Options::default(), |_| Ok(sink()), |_| ())
        .expect("to nowhere");
    kperf::write_symbols(&profile.symbols, sink()).expect("to nowhere");
    let lanes: Vec<_> = profile.lanes.iter().map(|lane| lane.id).take(8).collect();
    let open = || Ok::<_, io::Error>(reader());
    speedscope::write(open, filter, &lanes, "p", sink(), |_| ()).expect("to nowhere");
}
