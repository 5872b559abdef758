//! Pauses and waits are no function's self time, in reports and in exports.

use crate::support::{reader, simple};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use kperf_abi::FuncId;
use kperf_export::formats::folded::{self, Weight};
use kperf_export::formats::{chrome, csv, flame, speedscope};
use kperf_export::{graph, view};
use kperf_profile::{CallFilter, FlatProfile, Profile, Row, Symbols};
use kperf_trace::LaneId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// `main` has 50 of its own, `step` 4, `short` 1; 12 are the recorder's, 5 of them as two in a row. 9 are waits, 4 of them the thread's
/// own.
const SCRIPT: &str = "main{ 6 pause=2 step{ 14 pause=3 wait=5 pause=2 } short{ 9 own=3 pause=5 } 47 own=1 }";

fn flat(filter: &CallFilter<'_>) -> (f64, f64, f64, f64) {
    let profile = Profile::read_filtered(reader(&simple(SCRIPT)), filter, |_| ()).unwrap();
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    assert_eq!(
        flat.whole_nanos() - flat.self_nanos - flat.recorder_nanos,
        flat.processor_nanos + flat.waiting_nanos
    );
    (flat.self_nanos, flat.recorder_nanos, flat.processor_nanos, flat.waiting_nanos)
}

#[test]
fn filters_take_nothing_from_them() {
    let all = (55.0, 12.0, 5.0, 4.0);
    assert_eq!(flat(&CallFilter::default()), all);
    for min_nanos in [7, 9, 10, 14, 15, 76] {
        assert_eq!(flat(&CallFilter { min_nanos, ..CallFilter::default() }), all, "{min_nanos}");
    }
    for name in ["main", "step", "short"] {
        let skips = |symbols: &Symbols, func: FuncId| symbols.name(func) != name;
        // What is outside of all that is told of is nobody's.
        let expected = if name == "main" { (5.0, 10.0, 5.0, 3.0) } else { all };
        assert_eq!(flat(&CallFilter { keep: &skips, ..CallFilter::default() }), expected, "without {name}");
    }
}

/// Adds up how long functions were the innermost.
struct Own {
    open: Vec<String>,
    last: f64,
    sums: FxHashMap<String, f64>,
}

impl Own {
    fn of(events: impl Iterator<Item = (bool, String, f64)>) -> Vec<(String, f64)> {
        let mut own = Own { open: Vec::new(), last: 0.0, sums: FxHashMap::default() };
        for (opens, name, at) in events {
            assert!(at >= own.last, "{at} comes after {}", own.last);
            if let Some(innermost) = own.open.last() {
                *own.sums.entry(innermost.clone()).or_default() += at - own.last;
            }
            own.last = at;
            if opens {
                own.open.push(name);
            } else {
                assert_eq!(own.open.pop(), Some(name));
            }
        }
        assert!(own.open.is_empty());
        let mut sums: Vec<_> = own.sums.into_iter().collect();
        sums.sort_by(|a, b| a.0.cmp(&b.0));
        sums
    }
}

#[test]
fn exports_show_them_as_calls() {
    let (file, filter) = (simple(SCRIPT), CallFilter::default());
    let expected = [
        ("[recorder]", 12.0),
        ("[waiting for a processor]", 5.0),
        ("[waiting]", 4.0),
        ("main", 50.0),
        ("short", 1.0),
        ("step", 4.0),
    ];
    let expected: Vec<(String, f64)> = expected.map(|(name, own)| (name.to_owned(), own)).to_vec();
    let text = |out: Vec<u8>| String::from_utf8(out).unwrap();

    let mut out = Vec::new();
    chrome::write(reader(&file), &filter, "test", &mut out, |_| ()).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text(out)).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] != "M");
    let events = events.map(|event| {
        let nanos = (event["ts"].as_f64().unwrap() * 1000.0).round();
        (event["ph"] == "B", event["name"].as_str().unwrap().to_owned(), nanos)
    });
    assert_eq!(Own::of(events), expected);

    let mut out = Vec::new();
    let lanes = [LaneId { recorder: 0, stack: 0 }];
    speedscope::write(|| Ok(reader(&file)), &filter, &lanes, "test", &mut out, |_| ()).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text(out)).unwrap();
    let events = trace["profiles"][0]["events"].as_array().unwrap().iter().map(|event| {
        let frame = &trace["shared"]["frames"][event["frame"].as_u64().unwrap() as usize];
        (event["type"] == "O", frame["name"].as_str().unwrap().to_owned(), event["at"].as_f64().unwrap())
    });
    assert_eq!(Own::of(events), expected);

    let mut out = Vec::new();
    csv::write(reader(&file), &filter, &mut out, |_| ()).unwrap();
    let text = text(out);
    let own: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').nth(8)).collect();
    assert_eq!(own, ["4", "1", "50"]);
}

/// Shares are of the time that functions ran, in every view.
#[test]
fn shares_are_the_same_in_all_views() {
    let profile = Profile::read(reader(&simple(SCRIPT)), |_| ()).unwrap();
    let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
    let share = |row: &Row| format!("({:.1} %)", 100.0 * row.share);
    let expected: BTreeMap<String, String> =
        flat.rows.iter().map(|row| (row.name.to_string(), share(row))).collect();
    assert_eq!(expected.get("main").map(String::as_str), Some("(90.9 %)"));
    for tree in [false, true] {
        let options = graph::Options { min_share: 0.0, tree, ..graph::Options::default() };
        let picture = graph::picture(&profile, &options);
        let boxes = picture.vertices.iter().filter(|vertex| expected.contains_key(&vertex.name[0]));
        let drawn = boxes.map(|vertex| {
            let line = vertex.lines.iter().find(|line| line.starts_with("self")).unwrap();
            (vertex.name[0].clone(), line[line.find('(').unwrap()..].to_owned())
        });
        assert_eq!(drawn.collect::<BTreeMap<_, _>>(), expected, "tree: {tree}");
        let main = picture.vertices.iter().find(|vertex| vertex.name[0] == "main").unwrap();
        assert_eq!(main.lines[0], "total 76 ns (100.0 %)", "waits are in totals, and in no share");
    }
    let page = page(&profile);
    let (columns, whole) = (&page["functions"], page["selfNanos"].as_f64().unwrap());
    let number = |column: &str, n: usize| columns[column][n].as_f64().unwrap();
    let names = columns["name"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).enumerate();
    let pauses: Vec<usize> =
        page["pauses"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let functions = names.filter(|(n, _)| !pauses.contains(n));
    let shown = functions
        .map(|(n, name)| (name.to_owned(), format!("({:.1} %)", 100.0 * number("selfNanos", n) / whole)));
    assert_eq!(shown.collect::<BTreeMap<_, _>>(), expected);
    assert_eq!(pauses.iter().map(|&n| number("selfNanos", n)).sum::<f64>(), 21.0);
    let main = columns["name"].as_array().unwrap().iter().position(|name| name == "main").unwrap();
    assert_eq!(number("totalNanos", main) - number("pausedNanos", main), whole);
}

/// A flame graph's widths, and with them the shares that it shows, are of self time.
#[test]
fn flame_graphs_have_no_waits() {
    let profile = Profile::read(reader(&simple(SCRIPT)), |_| ()).unwrap();
    let mut out = Vec::new();
    flame::write(&profile, &flame::Options::default(), &mut out).unwrap();
    let picture = String::from_utf8(out).unwrap();
    assert!(picture.contains("55 ns in all, 9 ns of waits and 12 ns in the recorder apart"), "{picture}");
    assert!(picture.contains("main (55 ns, 100.00%)"), "{picture}");
    assert!(!picture.contains("[waiting]") && !picture.contains("[recorder]"), "{picture}");
    // As text for other tools they are paths of their own.
    let mut out = Vec::new();
    folded::write(&profile, Weight::Nanos, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("main;short;[waiting] 3"));
}

/// The page's figures.
fn page(profile: &Profile) -> serde_json::Value {
    let mut html = Vec::new();
    view::write_html_of_sums(profile, "test", &mut html).unwrap();
    let html = String::from_utf8(html).unwrap();
    let (_, data) = html.split_once("data-section=\"profile\">").unwrap();
    let packed = STANDARD.decode(data.split_once('<').unwrap().0).unwrap();
    serde_json::from_reader(DeflateDecoder::new(packed.as_slice())).unwrap()
}
