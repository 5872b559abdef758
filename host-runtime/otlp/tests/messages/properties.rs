//! What holds for the spans of any trace, whatever is left out.

use crate::common::{Numbers, attribute, completed, reader, seeded, spans, text, trace};
use kperf_abi::block::BlockHeader;
use kperf_otlp::proto::trace::v1::Span;
use kperf_otlp::{Roots, SpanOptions};
use kperf_profile::Profile;
use std::collections::HashMap;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Calls that go anywhere, with unwinds and times that stand still now and then; all of them end.
fn script(numbers: &mut Numbers, calls: u32) -> String {
    let (mut script, mut depth) = (String::new(), 0);
    let mut left = calls;
    while left > 0 || depth > 0 {
        if numbers.below(3) > 0 {
            script.push_str(&format!("{} ", numbers.below(30)));
        }
        match numbers.below(20) {
            0 if depth > 0 => {
                depth = numbers.below(depth);
                script
                    .push_str(&format!("{}>{depth} ", ["caught", "trap", "exit"][numbers.below(3) as usize]));
            }
            1..11 if left > 0 && depth < 12 => {
                script.push_str(NAMES[numbers.below(6) as usize]);
                script.push_str("{ ");
                depth += 1;
                left -= 1;
            }
            _ if depth > 0 => {
                script.push_str("} ");
                depth -= 1;
            }
            _ => {}
        }
    }
    script
}

fn programs() -> impl Iterator<Item = (u64, Vec<u8>)> {
    (0..60).map(|seed| {
        let mut numbers = Numbers(seed);
        let scripts: Vec<String> = (0..3).map(|_| script(&mut numbers, 80)).collect();
        let at = |start_ticks| BlockHeader { start_ticks, ..BlockHeader::default() };
        // Lane 0 in two blocks, lane 1 between them.
        let blocks =
            [(0, at(1), &scripts[0][..]), (1, at(500), &scripts[1][..]), (0, at(100_000), &scripts[2][..])];
        (seed, trace(&blocks, Some(&completed())))
    })
}

fn duration(span: &Span) -> u64 {
    span.end_time_unix_nano - span.start_time_unix_nano
}

fn number(span: &Span, key: &str) -> u64 {
    attribute(&span.attributes, key).map_or(0, |text| text.parse().expect("a number"))
}

#[test]
fn every_call_is_a_span_with_its_times() {
    for (seed, file) in programs() {
        let profile = Profile::read(reader(&file), |_| ()).expect("from memory");
        let (spans, account) = spans(&file, seeded());
        assert_eq!((account.calls, account.spans), (240, 240), "seed {seed}");
        assert_eq!(account.health.counts, profile.health.counts);
        // Children within their parents, ids that differ.
        text(&spans);
        let mut by_name: HashMap<&str, (u64, u64)> = HashMap::new();
        for span in &spans {
            let sum = by_name.entry(&span.name).or_default();
            *sum = (sum.0 + 1, sum.1 + duration(span));
        }
        let mut by_node: HashMap<String, (u64, u64)> = HashMap::new();
        for (_, node) in profile.tree.iter() {
            let sum = by_node.entry(profile.symbols.label(node.func)).or_default();
            *sum = (sum.0 + node.calls, sum.1 + node.total_ticks);
        }
        assert_eq!(by_name.len(), by_node.len());
        by_node
            .iter()
            .for_each(|(name, sums)| assert_eq!(by_name.get(&name[..]), Some(sums), "seed {seed}, {name}"));
        // The order of a lane's calls is that of their ends, and siblings don't overlap.
        for lane in ["0", "1"] {
            let of_lane = |span: &&Span| attribute(&span.attributes, "thread.id").as_deref() == Some(lane);
            assert!(spans.iter().filter(of_lane).map(|span| span.end_time_unix_nano).is_sorted());
        }
        let mut last_of: HashMap<&[u8], u64> = HashMap::new();
        for span in &spans {
            if !span.parent_span_id.is_empty() {
                let last = last_of.insert(&span.parent_span_id, span.end_time_unix_nano);
                assert!(last.is_none_or(|end| end <= span.start_time_unix_nano), "siblings overlap");
            }
        }
    }
}

/// Options that leave things out, by chance.
fn options(numbers: &mut Numbers) -> SpanOptions {
    let mut options = seeded();
    if numbers.below(2) == 0 {
        options.min_nanos = numbers.below(100);
    }
    if numbers.below(2) == 0 {
        options.max_depth = Some(1 + numbers.below(6) as u32);
    }
    if numbers.below(2) == 0 {
        options.max_spans = Some(numbers.below(240));
    }
    if numbers.below(2) == 0 {
        let hidden = NAMES[numbers.below(6) as usize];
        options.keep = Some(Box::new(move |name| name != hidden));
    }
    if numbers.below(3) == 0 {
        options.roots = Roots::PerRun;
    }
    options
}

#[test]
fn what_is_left_out_is_counted_and_its_time_is_somewhere() {
    let mut left_out = 0;
    for (seed, file) in programs() {
        let mut numbers = Numbers(seed);
        let profile = Profile::read(reader(&file), |_| ()).expect("from memory");
        for _ in 0..20 {
            let options = options(&mut numbers);
            let (max_spans, per_run) = (options.max_spans, options.roots == Roots::PerRun);
            let (spans, account) = spans(&file, options);
            text(&spans);
            assert!(max_spans.is_none_or(|most| account.spans - account.run_spans <= most));
            let elided: u64 = account.elided.reasons().iter().map(|(_, left)| left.nanos).sum();
            let told: u64 = spans.iter().map(|span| number(span, "kperf.elided.count")).sum();
            assert!(told <= account.elided.calls());
            left_out += told;
            // What the spans did themselves and what was left out make up the whole.
            let mut inside: HashMap<&[u8], u64> = HashMap::new();
            let mut own = 0;
            for span in &spans {
                *inside.entry(&span.parent_span_id).or_default() += duration(span);
            }
            for span in spans.iter().filter(|span| !span.name.eq("test")) {
                let inside = inside.get(&span.span_id[..]).copied().unwrap_or_default();
                let rest = duration(span).checked_sub(inside + number(span, "kperf.elided.time"));
                own += rest.expect("a span is no shorter than what is in it");
            }
            assert_eq!(own + elided, profile.tree.total_ticks(), "seed {seed}");
            if per_run {
                assert_eq!(told, account.elided.calls(), "the run knows of all that no other span knows of");
            }
        }
    }
    assert!(left_out > 10_000, "{left_out}");
}
