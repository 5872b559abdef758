//! The golden vector that ties the hosts together. JavaScript hosts write `tests/golden/life.trace` for one step of the Game of Life
//! under the test clock (host-runtime/js/test/golden.test.mjs makes it). wasmtime must write the same events.

use crate::common::command::{kperf, life};
use std::fs;
use std::path::Path;

/// The `EVTS` chunks of a trace: recorder and payload.
fn events(trace: &[u8]) -> Vec<(u32, &[u8])> {
    let u32_at = |at: usize| u32::from_le_bytes(trace[at..at + 4].try_into().unwrap());
    let mut chunks = Vec::new();
    let mut at = 8;
    while at < trace.len() {
        let payload = &trace[at + 28..][..u32_at(at + 16) as usize];
        if &trace[at + 4..at + 8] == b"EVTS" {
            chunks.push((u32_at(at + 8), payload));
        }
        at += 28 + payload.len();
    }
    chunks
}

#[test]
fn wasmtime_records_what_javascript_records() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = fs::read(root.join("tests/golden/life.trace")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    // As JavaScript's tests have it: rewritten for any host.
    kperf(&folder, &["rewrite", &life("wat"), "-o", "probed.wasm"]);
    kperf(&folder, &["run", "--clock", "test", "--trace", "life.kperf", "probed.wasm", "--", "1"]);
    let recorded = fs::read(folder.path().join("life.kperf")).unwrap();

    let golden: Vec<_> =
        events(&golden).into_iter().map(|(lane, payload)| (lane, unpacked(payload))).collect();
    let recorded: Vec<_> =
        events(&recorded).into_iter().map(|(lane, payload)| (lane, unpacked(payload))).collect();
    assert_eq!(golden.len(), 1);
    assert!(golden == recorded, "other events than those of tests/golden/life.trace");
}

/// A payload of codec 1 with its columns stored as they are: not every host can pack them.
fn unpacked(payload: &[u8]) -> Vec<u8> {
    let mut all = payload[..48].to_vec();
    let mut rest = &payload[48..];
    for column in 0..3 {
        let lengths = 24 + 8 * column;
        let [length, stored] = [lengths, lengths + 4]
            .map(|at| u32::from_le_bytes(payload[at..at + 4].try_into().unwrap()) as usize);
        let (bytes, behind) = rest.split_at(stored);
        if payload[2] & 1 << column == 0 {
            all.extend(bytes);
        } else {
            all.extend(zstd::bulk::decompress(bytes, length).unwrap());
        }
        all.copy_within(lengths..lengths + 4, lengths + 4);
        rest = behind;
    }
    all[2] = 0;
    all
}
