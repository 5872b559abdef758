//! Traces in the lines of a log: modules that record themselves write them to stderr where they have no files.
//!
//! ```text
//! 12:01 app | kperf:1f00b2c4:0:S1BFUkYAAQX1a3Bm..
//! ```

use anyhow::bail;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::collections::BTreeMap;

/// What each line has, after whatever a logger puts before it: `kperf:`, the instance's id, the line's number, and bytes.
const MARK: &str = "kperf:";
/// Digits of an id.
const ID: usize = 8;

/// The lines of an instance, by their numbers.
type Lines<'l> = BTreeMap<u64, &'l str>;

/// The trace in a log. `None` if there is none. Fails if there are several, or if its beginning is missing. Warns of other lines that are
/// missing or damaged: a trace can be read without them.
pub fn trace(log: &[u8], mut warn: impl FnMut(&str)) -> anyhow::Result<Option<Vec<u8>>> {
    let text = String::from_utf8_lossy(log);
    let mut instances: BTreeMap<&str, Lines<'_>> = BTreeMap::new();
    for (id, number, bytes) in text.lines().flat_map(parts) {
        let before = instances.entry(id).or_default().insert(number, bytes);
        if before.is_some_and(|before| before != bytes) {
            bail!("the log has two lines {MARK}{id}:{number}, of two instances that began at the same time");
        }
    }
    let mut all = instances.iter();
    let Some((id, lines)) = all.next() else { return Ok(None) };
    if let Some((other, _)) = all.next() {
        bail!(
            "the log has the traces of {} instances ({id}, {other}{}); choose one: grep {MARK}{id} LOG | kperf-wasm report -",
            instances.len(),
            if instances.len() > 2 { ", .." } else { "" }
        );
    }
    let (mut trace, mut expected) = (Vec::new(), 0);
    for (&number, bytes) in lines {
        if expected < number {
            let missing = format!("the log has no line {MARK}{id}:{expected}");
            if expected == 0 {
                bail!("{missing}, with which the trace begins");
            }
            warn(&missing);
        }
        expected = number + 1;
        match BASE64_STANDARD.decode(bytes) {
            Ok(bytes) => trace.extend(bytes),
            Err(_) => warn(&format!("the line {MARK}{id}:{number} is damaged")),
        }
    }
    Ok(Some(trace))
}

/// The ids, numbers and bytes in a line. A program's own text may stand before and after them.
fn parts(line: &str) -> impl Iterator<Item = (&str, u64, &str)> {
    line.split(MARK).skip(1).filter_map(|part| {
        let (id, rest) = part.split_once(':')?;
        let (number, rest) = rest.split_once(':')?;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        let bytes = rest.split(|c| !is_letter(c)).next()?;
        let is_id = id.len() == ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = number.parse().ok().filter(|_| is_id && !bytes.is_empty())?;
        Some((id, number, bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Result<Option<Vec<u8>>, String> {
        trace(log.as_bytes(), |_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_are_found_among_others_in_any_order() {
        let log = "start\r\nERR text kperf:0123abcd:1:Yw== \"q\"\n{\"log\":\"kperf:0123abcd:0:YWI=\\n\"}\nkperf: 3\n";
        assert_eq!(of(log), Ok(Some(b"abc".to_vec())));
        assert_eq!(
            of("kperf:0123abcd:0:YQ==\nkperf:0123abcd:0:YQ=="),
            Ok(Some(b"a".to_vec())),
            "twice the same"
        );
        assert_eq!([of(""), of("kperf:\nkperf:1:2:3\nkperf:0123abcd:x:YQ==")], [Ok(None), Ok(None)]);
    }

    #[test]
    fn what_is_missing_is_told() {
        let mut told = Vec::new();
        let log = b"kperf:0123abcd:0:YQ==\nkperf:0123abcd:2:Yg==\nkperf:0123abcd:3:Y";
        let trace = trace(log, |warning| told.push(warning.to_owned())).expect("one instance");
        assert_eq!(trace, Some(b"ab".to_vec()));
        assert_eq!(told, ["the log has no line kperf:0123abcd:1", "the line kperf:0123abcd:3 is damaged"]);
        let beginning = "the log has no line kperf:0123abcd:0, with which the trace begins";
        assert_eq!(of("kperf:0123abcd:1:YQ=="), Err(beginning.into()));
        let two = of("kperf:0123abcd:0:YQ==\nkperf:ffffabcd:0:YQ==").expect_err("two instances");
        assert!(two.contains("grep kperf:0123abcd LOG"), "{two}");
        let same = of("kperf:0123abcd:0:YQ==\nkperf:0123abcd:0:Yg==").expect_err("one id");
        assert!(same.contains("began at the same time"), "{same}");
    }
}
