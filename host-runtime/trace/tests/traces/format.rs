//! FORMAT.md says what the files are: its tables name the constants, its dump is a file that is written here.

use crate::common::{block, block_at, chunk, context, raw_trace, text, timed, window};
use kperf_trace::block::{self, BlockHeader};
use kperf_trace::word::{self, Reason, Word};
use kperf_trace::{
    Anchor, AnomalyKind, CallParent, ChunkKind, ClockInfo, ClockKind, Header, HostInfo, Item, Stall,
    StallKind, StallTotal, Summary, TraceReader, TraceWriter,
};
use std::fmt::Write;

const FORMAT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/FORMAT.md");

fn example_block() -> Vec<u8> {
    let words = [
        Word::Time(40),
        Word::Enter(0),
        Word::Time(25),
        Word::Enter(1),
        Word::Time(300),
        Word::Leave,
        Word::Time(30),
        Word::Mark(7),
        Word::Time(20),
        Word::Unwind { depth: 0, reason: Reason::Exit },
    ];
    block_at(BlockHeader { stack: 0, depth: 0, start_ticks: 1_000_000 }, &words.map(Word::encode))
}

fn example() -> Vec<u8> {
    let header = Header {
        clock: ClockInfo {
            kind: ClockKind::Precise,
            source: "tsc".into(),
            ticks_per_second: 2.5e9,
            resolution_nanos: 0.4,
            period_nanos: None,
            no_ticker: None,
        },
        anchor: Anchor { ticks: 1_000_000, unix_nanos: 1_700_000_000_000_000_000 },
        probe_cost: None,
        host: HostInfo { name: "wasmtime".into(), ..HostInfo::default() },
        command: vec!["life.wasm".into()],
        parent: None,
        repeated: false,
    };
    let mut writer = TraceWriter::new(Vec::new(), &header).expect("a writer");
    let stall = Stall { kind: StallKind::Writer, recorder: Some(0), start_ticks: 1_000_415, nanos: 1500 };
    writer.symbols(b"(a symbol table)").expect("symbols");
    let parent = CallParent { recorder: 0, stack: Some(0), context: Some(context("vendor=7")) };
    writer.parent(&parent).expect("a parent");
    writer.block(0, &example_block()).expect("a block");
    writer.stall(stall).expect("a stall");
    writer.lost(0, 2).expect("a loss");
    writer.spans(1, &block(1_000_000, &timed(2_500_000, &[Some(4), None]))).expect("spans");
    writer.window(&window(1)).expect("a window");
    writer.anchor(Anchor { ticks: 1_003_000, unix_nanos: 1_700_000_000_000_001_250 }).expect("an anchor");
    let summary = Summary { outcome: "exit 3".into(), end_ticks: 1_004_000, events: 7, ..Summary::default() };
    writer.finish(&summary).expect("an end")
}

/// The file in hexadecimal, a paragraph a chunk: what `hexdump -C` prints, with titles.
fn dump(file: &[u8]) -> String {
    let mut text = String::new();
    let mut titles = vec![(0, "magic and version".to_owned())];
    let mut at = 8;
    while let Some(header) = file.get(at..at + 28) {
        titles.push((at, format!("{} header", header[4..8].escape_ascii())));
        titles.push((at + 28, format!("{} payload", header[4..8].escape_ascii())));
        at += 28 + u32::from_le_bytes([header[16], header[17], header[18], header[19]]) as usize;
    }
    titles.push((file.len(), String::new()));
    for pair in titles.windows(2) {
        writeln!(text, "# {}", pair[0].1).expect("a String takes everything");
        for (line, bytes) in file[pair[0].0..pair[1].0].chunks(16).enumerate() {
            let hex: Vec<_> = bytes
                .chunks(8)
                .map(|half| half.iter().map(|byte| format!("{byte:02x} ")).collect::<String>())
                .collect();
            let ascii: String = bytes
                .iter()
                .map(|&byte| if byte.is_ascii_graphic() || byte == b' ' { byte.into() } else { '.' })
                .collect();
            writeln!(text, "{:08x}  {:<50}|{ascii}|", pair[0].0 + line * 16, hex.join(" "))
                .expect("a String");
        }
    }
    text
}

/// With `BLESS=1` the dump and the reading of it are written anew.
#[test]
fn the_dump_in_the_format_is_a_real_file() {
    let format = std::fs::read_to_string(FORMAT).expect("FORMAT.md");
    let mut made = format.clone();
    for (fence, content) in [("```hexdump\n", dump(&example())), ("```reading\n", text(&example()))] {
        let (before, rest) = made.split_once(fence).expect("its fence");
        let (_, after) = rest.split_once("```").expect("the fence's end");
        made = format!("{before}{fence}{content}```{after}");
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(FORMAT, &made).expect("write FORMAT.md");
    } else {
        assert!(made == format, "FORMAT.md shows another file; BLESS=1 cargo test renews it:\n{made}");
    }
}

#[test]
fn the_tables_name_the_constants() {
    let format = std::fs::read_to_string(FORMAT).expect("FORMAT.md");
    let mut rows = vec![
        format!("| `{:#010x} \\| id` | enter", 0),
        format!("| `{:#010x} \\| n` | `n` ticks", word::TIME),
        format!("| `{:#010x}` | leave", word::LEAVE),
        format!("| `{:#010x} \\| id + 1` | leaf", word::LEAVE),
        format!("| `{:#010x} \\| reason << 26 \\| d` | unwind", word::UNWIND),
        format!("| `{:#010x}`, low, high | many ticks", word::WIDE_TIME),
        format!("| `{:#010x} \\| s` | switch", word::SWITCH),
        format!("| `{:#010x} \\| n` | mark", word::MARK),
        format!("| `{:#010x} \\| b` | a record", word::RECORD),
        format!("| `{:#010x} \\| b` | 26 bits more", word::RECORD_MORE),
        format!("| `{:#010x} \\| kind << 23 \\| unit << 22 \\| n` | wait", word::WAIT),
        format!("at most {} stacks", block::STACKS),
    ];
    rows.extend(Reason::ALL.map(|reason| format!("| {} | {} |", reason as u32, reason.as_str())));
    for kind in [
        ChunkKind::HEADER,
        ChunkKind::SYMBOLS,
        ChunkKind::EVENTS,
        ChunkKind::SPANS,
        ChunkKind::WINDOW,
        ChunkKind::STALL,
        ChunkKind::LOST,
        ChunkKind::PARENT,
        ChunkKind::ANCHOR,
        ChunkKind::END,
    ] {
        rows.push(format!("| `{kind}` |"));
    }
    for row in rows {
        assert!(format.contains(&row), "FORMAT.md doesn't say {row}");
    }
}

/// Every JSON field that is written stands in FORMAT.md, between backquotes.
#[test]
fn the_fields_are_described() {
    let format = std::fs::read_to_string(FORMAT).expect("FORMAT.md");
    let json = [
        serde_json::to_value(crate::common::full_header()).expect("JSON"),
        serde_json::to_value(Summary::default()).expect("JSON"),
    ];
    let mut queue: Vec<_> = json.iter().collect();
    let mut fields = 0;
    while let Some(value) = queue.pop() {
        for (name, value) in value.as_object().into_iter().flatten() {
            assert!(format.contains(&format!("`{name}`")), "FORMAT.md doesn't describe {name}");
            queue.push(value);
            fields += 1;
        }
    }
    assert_eq!(fields, 6 + 5 + 2 + 2 + 5 + 2 + 10 + 6 + 3);
}

#[test]
fn a_raw_block_reads_as_its_columns() {
    let lines = "\
lane 0, depth 0, from 1000000
  1000040 enter 0
  1000065 enter 1
  1000365 leave
  1000395 mark 7
  1000415 unwind to 0: exit
";
    assert_eq!(text(&raw_trace(0, &[example_block()])), format!("{lines}end: completed\n"));
    assert!(text(&example()).contains(lines));
}

/// An EVTS payload of stored columns, field by field as FORMAT.md describes it.
fn columns(form: u8, count: u32, columns: [&[u8]; 3]) -> Vec<u8> {
    let mut payload = vec![1, form, 0, 0];
    payload.extend(BlockHeader { stack: 1, depth: 2, start_ticks: 10 }.to_bytes());
    payload.extend(count.to_le_bytes());
    for column in columns {
        payload.extend((column.len() as u32).to_le_bytes().repeat(2));
    }
    payload.extend(columns.concat());
    payload
}

fn reading_of(payload: &[u8]) -> String {
    let [head, events, end] = [(b"HEAD", &b"{}"[..]), (b"EVTS", payload), (b"ENDT", b"{}")]
        .map(|(kind, payload)| chunk(kind, if kind == b"EVTS" { 4 } else { 0 }, 0, payload));
    text(&[b"KPERF\0\x01\0".to_vec(), head, events, end].concat())
}

#[test]
fn columns_by_hand() {
    // Enter 0, enter 126 (two bytes), a mark, leave.
    let (ids, others) = ([2, 0x80, 1, 1, 0], Word::Mark(5).encode().to_le_bytes());
    let expected = "  10 enter 0\n  10 enter 126\n  310 mark 5\n  310 leave\n";
    for payload in [
        columns(0, 4, [&ids, &others, &[0, 0, 0xac, 2, 0]]),
        columns(1, 4, [&ids, &others, &[2, 0xac, 2]]),
        columns(1, 4, [&ids, &others, &[0, 0, 2, 0xac, 2, 2, 9]]),
    ] {
        assert_eq!(reading_of(&payload), format!("lane 4.1, depth 2, from 10\n{expected}end: \n"));
    }
}

#[test]
fn columns_that_break_the_rules_are_told_apart() {
    let mut two_lengths = columns(0, 1, [&[2], &[], &[0]]);
    two_lengths[24] = 2;
    let mut no_frame = columns(0, 1, [&[2], &[], &[0]]);
    no_frame[2] = 1;
    let mut too_long = columns(0, 1, [&[2], &[], &[0]]);
    too_long[27] = 0xff;
    for (payload, what) in [
        (vec![], "it is empty"),
        (vec![2], "its codec is unknown"),
        (vec![0; 16], "it ends inside the block's header"),
        (vec![0; 18], "it ends inside a word"),
        ([&[0, 0, 3][..], &[0; 14]].concat(), "its stack is beyond the last"),
        (vec![1; 47], "it ends inside its envelope"),
        (columns(2, 0, [&[]; 3]), "the form of its times is unknown"),
        (columns(0, 1 << 21, [&[]; 3]), "it claims more events than a block has"),
        (columns(0, 0, [&[]; 3])[..47].to_vec(), "it ends inside its envelope"),
        (columns(0, 1, [&[2], &[], &[0]])[..49].to_vec(), "it ends inside a column"),
        (two_lengths, "a stored column has two lengths"),
        (no_frame, "a column is no zstd frame of the length it claims"),
        (too_long, "it claims a column longer than a block has"),
        (columns(0, 1, [&[1], &[0; 3], &[0]]), "its columns disagree"),
        (columns(0, 1, [&[2], &[0; 4], &[0]]), "its columns disagree"),
        (columns(0, 1, [&[2, 2], &[], &[0]]), "its columns disagree"),
        (columns(0, 2, [&[2], &[], &[0, 0]]), "a column ends too early"),
        (columns(0, 1, [&[2], &[], &[]]), "a column ends too early"),
        (columns(0, 1, [&[0x82], &[], &[0]]), "a column ends too early"),
        (columns(0, 1, [&[2], &[], &[0, 0]]), "it has more times than events"),
        (columns(1, 1, [&[2], &[], &[2, 0]]), "it has a time behind its events"),
        (columns(0, 1, [&[0xff, 0xff, 0xff, 0xff, 0x10], &[], &[0]]), "an id exceeds 32 bits"),
        (columns(0, 1, [&[2], &[], &[0xff; 11]]), "a number exceeds 64 bits"),
    ] {
        let text = reading_of(&payload);
        // What is lost is an event of the recorder, which has no other.
        let expected = format!(
            "lane 4, depth 0, from 0\n  0 lost\nend: \n! malformed EVTS chunk, ignored: {what} (at offset 0x26)\n"
        );
        assert_eq!(text, expected);
    }
}

/// A file of the version `major.minor` with a header, such chunks, and an end.
fn file(version: [u8; 2], chunks: &[Vec<u8>]) -> Vec<u8> {
    let [head, end] = [b"HEAD", b"ENDT"].map(|kind| chunk(kind, 0, 0, b"{}"));
    [b"KPERF\0".to_vec(), version.to_vec(), head, chunks.concat(), end].concat()
}

#[test]
fn a_later_minor_version_is_read_and_said() {
    let block = chunk(b"EVTS", 0, 0, &columns(0, 1, [&[2], &[], &[5]]));
    let news = chunk(b"NEWS", 7, 7, b"what nobody knows yet");
    let read = "lane 0.1, depth 2, from 10\n  15 enter 0\nend: \n";
    let unknown = "! chunk of unknown kind NEWS, ignored (at offset 0x26)\n";
    for version in [[1, 0], [1, 1], [1, 2], [1, 3]] {
        assert_eq!(text(&file(version, &[news.clone(), block.clone()])), format!("{read}{unknown}"));
    }
    let newer = "! the trace has format version 1.7, this reader knows 1.5: what is new in it is passed over (at offset 0x0)\n";
    assert_eq!(text(&file([1, 7], &[news, block])), format!("{read}{newer}{unknown}"));
}

#[test]
fn another_major_version_is_refused() {
    for version in [[0, 1], [2, 0], [255, 255]] {
        let error = TraceReader::new(&file(version, &[])[..]).err().expect("an error").to_string();
        let [major, minor] = version;
        assert_eq!(
            error,
            format!(
                "the trace has format version {major}.{minor}, this reader knows version 1.5 (at offset 0x6)"
            )
        );
    }
}

/// What a later minor version may add behind the fields of each kind, and in its flags.
#[test]
fn trailing_fields_and_unknown_flags_are_passed_over() {
    let more = b"\0\0\x01more";
    let mut events = columns(0, 1, [&[2], &[], &[5]]);
    (events[2], events[3]) = (0xf8, 0xff);
    let window = {
        let mut payload = vec![0, 0xff, 0xff, 0xff];
        let body = [vec![0; 9], vec![0, 0]].concat();
        payload.extend((body.len() as u32 + more.len() as u32).to_le_bytes());
        payload.extend(body);
        payload
    };
    let parent = [&[0; 4][..], &[0xfd], &[1; 16], &[2; 8], b"a=b"].concat();
    let chunks = [
        (b"EVTS", events),
        (b"STAL", [&[0][..], &[1; 16]].concat()),
        (b"LOST", vec![0; 8]),
        (b"PRNT", parent),
        (b"ANCH", vec![1; 16]),
        (b"PROF", window),
    ];
    for (kind, payload) in chunks {
        let [plain, longer] = [payload.clone(), [&payload[..], more].concat()]
            .map(|payload| text(&file([1, 1], &[chunk(kind, 0, u32::from(kind == b"LOST"), &payload)])));
        // The window says how long it is, so that only the longer one is whole.
        let known = if kind == b"PROF" { longer.clone() } else { plain };
        assert_eq!(longer, known);
        assert!(!longer.contains('!'), "{longer}");
        assert!(longer.lines().count() > 1 || kind == b"LOST", "{longer}");
    }
}

#[test]
fn json_may_lack_fields_and_have_more() {
    let head = br#"{"clock": {"kind": "ticker", "period_nanos": 2000, "colour": 1}, "anchor": {"ticks": "5", "unix_nanos": "1700000000000000001"}, "x": []}"#;
    let end = br#"{"outcome": "exit 0", "end_ticks": "18446744073709551615", "y": {}}"#;
    let file = [&b"KPERF\0\x01\0"[..], &chunk(b"HEAD", 0, 0, head), &chunk(b"ENDT", 0, 0, end)].concat();
    let mut reader = TraceReader::new(&file[..]).expect("a trace");
    let header = reader.header().clone();
    assert_eq!((header.clock.kind, header.clock.period_nanos), (ClockKind::Ticker, Some(2000)));
    assert_eq!((header.clock.source.as_str(), header.clock.ticks_per_second), ("unknown", 1e9));
    assert_eq!(header.unix_nanos(3), 1_699_999_999_999_999_999);
    let summary = Summary { outcome: "exit 0".into(), end_ticks: u64::MAX, ..Summary::default() };
    assert_eq!(reader.next().expect("no IO fails"), Some(Item::End(&summary)));
    assert_eq!(reader.anomalies(), []);
}

#[test]
fn a_header_that_is_no_json_object_is_no_header() {
    for head in ["{", "null", "", r#"{"clock": {"ticks_per_second": 1e999}}"#] {
        let file =
            [&b"KPERF\0\x01\0"[..], &chunk(b"HEAD", 0, 0, head.as_bytes()), &chunk(b"ENDT", 0, 0, b"{}")]
                .concat();
        assert_eq!(TraceReader::new(&file[..]).expect("a trace").header(), &Header::default());
        assert_eq!(
            text(&file),
            "end: \n! no readable header: the clock's rate is a guess (at offset 0x8)\n",
            "{head}"
        );
    }
}

#[test]
fn a_field_with_a_wrong_value_costs_only_itself() {
    let head = br#"{"clock": {"kind": 3, "source": "tsc", "ticks_per_second": -1, "resolution_nanos": 2, "period_nanos": 2000.5},
        "anchor": {"ticks": 1e10, "unix_nanos": 7}, "probe_cost": 5, "host": {"pid": 1099511627776, "os": "linux", "arch": null},
        "command": "x", "parent": {"traceparent": "00-0"}, "later": -1}"#;
    let end = br#"{"ticks": null, "events": 15.0, "outcome": null, "end_ticks": "-5", "blocks": 3, "recorders": "12",
        "notes": "x", "writer_stalls": {"count": -1, "nanos": 4}}"#;
    let file = [&b"KPERF\0\x01\0"[..], &chunk(b"HEAD", 0, 0, head), &chunk(b"ENDT", 0, 0, end)].concat();
    let mut reader = TraceReader::new(&file[..]).expect("a trace");
    let header = Header {
        clock: ClockInfo { source: "tsc".into(), resolution_nanos: 2.0, ..ClockInfo::default() },
        anchor: Anchor { ticks: 0, unix_nanos: 7 },
        host: HostInfo { os: "linux".into(), ..HostInfo::default() },
        ..Header::default()
    };
    assert_eq!(reader.header(), &header);
    let writer_stalls = StallTotal { nanos: 4, ..StallTotal::default() };
    let summary = Summary { blocks: 3, writer_stalls, ..Summary::default() };
    assert_eq!(reader.next().expect("no IO fails"), Some(Item::End(&summary)));
    let bad = reader.anomalies().iter().map(|anomaly| match &anomaly.kind {
        AnomalyKind::BadField { chunk, field } => format!("{chunk} {field}"),
        _ => panic!("{anomaly}"),
    });
    let mut bad: Vec<_> = bad.collect();
    bad.sort();
    let head = "anchor.ticks clock.kind clock.period_nanos clock.ticks_per_second command host.pid parent probe_cost";
    let end = "end_ticks events notes recorders writer_stalls.count";
    let expected = end.split(' ').map(|field| format!("ENDT {field}"));
    let expected = expected.chain(head.split(' ').map(|field| format!("HEAD {field}")));
    assert_eq!(bad, expected.collect::<Vec<_>>());
}
