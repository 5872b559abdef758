//! Ids of functions, paths and runs, equal in every run and on every machine: the first eight bytes of a SHA-256,
//! big-endian, as a signed number. 0 is no id.

use kperf_trace::Header;
use sha2::{Digest, Sha256};

/// The id of a function: of its name, as the source has it. Functions of one name are one.
pub fn function_id(name: &str) -> i64 {
    id(&[name.as_bytes()])
}

/// The id of a path of calls. It hashes 16 bytes: the id of the caller's path (0 for the host) and the function's, big-endian.
pub fn path_id(parent: i64, function: i64) -> i64 {
    id(&[&parent.to_be_bytes(), &function.to_be_bytes()])
}

/// The id of a run. It hashes the header's time, host and command. So a trace that is added twice, or that has grown, is the same
/// run.
pub fn run_id(header: &Header) -> i64 {
    let Header { clock, anchor, host, command, .. } = header;
    let numbers = [
        anchor.unix_nanos,
        anchor.ticks,
        clock.ticks_per_second.to_bits(),
        host.pid.into(),
        command.len() as u64,
    ];
    let mut parts: Vec<Vec<u8>> = numbers.iter().map(|number| number.to_be_bytes().to_vec()).collect();
    let texts = [&clock.source, &host.name, &host.version, &host.os, &host.arch];
    for text in texts.into_iter().chain(command) {
        parts.push((text.len() as u64).to_be_bytes().to_vec());
        parts.push(text.as_bytes().to_vec());
    }
    id(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The id of a run that somebody has named.
pub fn named_run_id(name: &str) -> i64 {
    id(&[b"run\0", name.as_bytes()])
}

fn id(parts: &[&[u8]]) -> i64 {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    let hash = hasher.finalize();
    let first = hash.first_chunk::<8>().map_or(0, |bytes| i64::from_be_bytes(*bytes));
    if first == 0 { 1 } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_that_the_document_says() {
        // python3: int.from_bytes(hashlib.sha256(b'main').digest()[:8], 'big', signed=True)
        let main = function_id("main");
        assert_eq!((main, path_id(0, main)), (967_781_862_181_635_051, -1_436_112_316_215_669_176));
        assert_ne!(path_id(0, main), path_id(path_id(0, main), main));
    }

    #[test]
    fn runs_differ_by_their_headers() {
        let header = Header::default();
        let mut later = header.clone();
        later.anchor.unix_nanos = 1;
        let of = |words: &[&str]| Header {
            command: words.iter().map(|&word| word.into()).collect(),
            ..Header::default()
        };
        let ids = [
            run_id(&header),
            run_id(&later),
            run_id(&of(&["a", "b"])),
            run_id(&of(&["ab"])),
            named_run_id("ab"),
        ];
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{n}");
        }
    }
}
