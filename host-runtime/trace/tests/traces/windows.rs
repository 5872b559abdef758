//! Windows of a profile come back as they were written, and nonsense is told apart.

use crate::common::{Random, chunk, text, trace, window};
use kperf_trace::{FuncId, Item, TraceReader, Window, WindowNode, WindowPlace};

fn read(file: &[u8]) -> Vec<Window> {
    let mut reader = TraceReader::new(file).expect("a trace");
    let mut windows = Vec::new();
    while let Some(item) = reader.next().expect("no IO fails") {
        if let Item::Window(window) = item {
            windows.push(window.clone());
        }
    }
    assert_eq!(reader.anomalies(), []);
    windows
}

#[test]
fn windows_come_back_as_they_were() {
    let deep: Vec<WindowNode> = (0..20_000)
        .map(|n| {
            let parent = u32::checked_sub(n, 1);
            WindowNode { parent, func: FuncId(n % 7), samples: u64::from(n % 3), self_ticks: 250_000 }
        })
        .collect();
    let largest = FuncId(kperf_trace::word::MAX_FUNC_ID);
    let windows = [
        Window::default(),
        window(3),
        Window { nodes: deep, calls: vec![(largest, u64::MAX)], ..window(4) },
        Window { parent: Some((&crate::common::context("")).into()), ..window(5) },
        Window { parent: Some((&crate::common::context("")).into()), places: Vec::new(), ..window(6) },
        Window { node_calls: vec![1, 0, u64::MAX, 7], calls: Vec::new(), ..window(7) },
        Window {
            node_calls: vec![4, 3, 2, 1],
            places: Vec::new(),
            parent: Some((&crate::common::context("")).into()),
            ..window(8)
        },
        Window { start_ticks: u64::MAX, end_ticks: u64::MAX, squares: f64::MAX, ..Window::default() },
    ];
    let file = trace(|writer| windows.iter().for_each(|window| writer.window(window).expect("a window")));
    assert_eq!(read(&file), windows);
    assert!(file.len() < 40_000, "{} bytes: a long body is packed", file.len());
}

#[test]
fn trees_of_any_shape_come_back() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut window = window(seed as u32);
        (window.nodes, window.places) = (Vec::new(), Vec::new());
        for index in 0..random.below(400) as u32 {
            let parent = (random.below(u64::from(index) + 1) as u32).checked_sub(1);
            let (samples, self_ticks) = (random.below(1 << 20), random.below(1 << 50));
            window.nodes.push(WindowNode {
                parent,
                func: FuncId(random.below(1 << 30) as u32),
                samples,
                self_ticks,
            });
            for _ in 0..random.below(3) {
                let [offset, samples, ticks] = [20, 20, 50].map(|bits| random.below(1 << bits));
                window.places.push(WindowPlace { node: index, offset: offset as u32, samples, ticks });
            }
        }
        assert_eq!(read(&trace(|writer| writer.window(&window).expect("a window"))), [window], "seed {seed}");
    }
}

fn leb128(numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for &number in numbers {
        let mut number = number;
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }
    out
}

/// What a reader says of a window whose body is these numbers.
fn reading_of(flag: u8, length: Option<u32>, body: &[u8]) -> String {
    let length = length.unwrap_or(body.len() as u32).to_le_bytes();
    let payload = [&[flag, 0, 0, 0], &length, body].concat();
    let [head, window, end] = [(b"HEAD", &b"{}"[..]), (b"PROF", &payload), (b"ENDT", b"{}")]
        .map(|(kind, payload)| chunk(kind, 0, 0, payload));
    text(&[b"KPERF\0\x01\0".to_vec(), head, window, end].concat())
}

#[test]
fn windows_that_break_the_rules_are_told_apart() {
    const START: [u64; 8] = [5, 10, 100, 0, 2, 0, 0, 3];
    let with = |rest: &[u64]| leb128(&[&START, rest].concat());
    let good = with(&[0, 1, 1, 7, 2, 10, 1, 7, 4]);
    assert!(reading_of(0, None, &good).starts_with("Window {"), "{}", reading_of(0, None, &good));
    let infinite = f64::INFINITY.to_bits();
    for (flag, length, body, what) in [
        (2, None, good.clone(), "its codec is unknown"),
        (0, Some(3), good.clone(), "it isn't as long as it claims"),
        (1, None, good.clone(), "a column is no zstd frame of the length it claims"),
        (1, Some(u32::MAX), good.clone(), "it is too long"),
        (0, None, good[..good.len() - 1].to_vec(), "it ends inside a number"),
        (0, None, leb128(&START), "it ends inside a number"),
        (0, None, with(&[infinite, 0, 0]), "its sum of squares is none"),
        (0, None, with(&[(-1f64).to_bits(), 0, 0]), "its sum of squares is none"),
        (0, None, with(&[0, u64::MAX, 0]), "it has too many entries"),
        (0, None, with(&[0, 5, 0]), "it ends inside a number"),
        (0, None, with(&[0, 1, 0, 7, 2, 10, 0]), "a node has no parent"),
        (0, None, with(&[0, 1, 2, 7, 2, 10, 0]), "a node has no parent"),
        (0, None, with(&[0, 1, 1, 1 << 30, 2, 10, 0]), "there is no such function id"),
        (0, None, with(&[0, 0, 2, (1 << 30) - 1, 1, 0, 1]), "there is no such function id"),
        (0, None, with(&[0, 0, 0, 0, 1, 5, 5]), "it ends inside a number"),
        (0, None, with(&[0, 0, 0, 0, 2, 5, 5]), "it has several parents"),
        (0, None, with(&[0, 2, 1, 7, 0, 10, 1, 7, 0, 10, 0, 0, 0, 5]), "it ends inside a number"),
    ] {
        let expected = format!("end: \n! malformed PROF chunk, ignored: {what} (at offset 0x26)\n");
        assert_eq!(reading_of(flag, length, &body), expected);
    }
    assert!(reading_of(0, None, &[]).contains("it ends inside a number"));
}
