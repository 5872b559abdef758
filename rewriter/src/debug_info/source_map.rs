//! Source maps (ECMA-426) of modules: their columns are offsets in the module, all in one line.

use crate::error::{Error, ErrorKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::ops::Range;

/// The name of the custom section that names a module's source map.
pub(crate) const SECTION: &str = "sourceMappingURL";

/// How an address begins that has the map in it.
const INLINE: &str = "data:";

/// A source map of a module.
#[derive(Clone, Debug)]
pub struct SourceMap {
    /// All but the mappings, which another tool may know more of.
    json: serde_json::Map<String, Value>,
    files: Vec<String>,
    names: Vec<String>,
    /// In the order of their columns.
    segments: Vec<Segment>,
}

/// What the instructions from a column on come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    /// The offset in the module.
    column: u64,
    place: Option<SourcePoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SourcePoint {
    file: u32,
    /// From 0.
    line: u32,
    column: u32,
    name: Option<u32>,
}

impl SourceMap {
    /// Reads a source map: JSON, which may begin with `)]}'` and a line's end.
    ///
    /// # Errors
    ///
    /// If it is no source map of version 3, has an index of other maps, or has mappings that can't be read.
    pub fn parse(bytes: &[u8]) -> Result<SourceMap, Error> {
        let bad = |message: &str| Error::from(ErrorKind::BadSourceMap { message: message.to_owned() });
        let bytes = match bytes.strip_prefix(b")]}'") {
            Some(rest) => rest.splitn(2, |&byte| byte == b'\n').nth(1).unwrap_or_default(),
            None => bytes,
        };
        if values(bytes) > MAX_VALUES {
            return Err(bad("it has more values than maps have"));
        }
        let json = serde_json::from_slice(bytes).map_err(|error| bad(&error.to_string()))?;
        let Value::Object(mut json) = json else { return Err(bad("it is no JSON object")) };
        if json.get("version").and_then(Value::as_u64) != Some(3) {
            return Err(bad("its version is not 3"));
        }
        if json.contains_key("sections") {
            return Err(bad("it is an index of several maps, which modules don't have"));
        }
        let Some(Value::String(mappings)) = json.remove("mappings") else {
            return Err(bad("it has no mappings"));
        };
        let list = |key: &str| -> Vec<String> {
            let list = json.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            list.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
        };
        let root = json.get("sourceRoot").and_then(Value::as_str).unwrap_or_default().trim_end_matches('/');
        let files: Vec<String> = list("sources");
        let is_long = root.len().saturating_mul(files.len()) > MAX_ROOTS;
        let under_root = |file: String| match root {
            "" => file,
            _ if file.starts_with('/') || file.contains("://") || is_long => file,
            root => format!("{root}/{file}"),
        };
        let names = list("names");
        let segments = read(&mappings, files.len(), names.len())
            .ok_or_else(|| bad("its mappings are broken, or too many"))?;
        let files = files.into_iter().map(under_root).collect();
        Ok(SourceMap { json, files, names, segments })
    }

    /// The map that an address has in it; `None` for the address of another file.
    pub fn inline(url: &str) -> Option<Result<SourceMap, Error>> {
        let (kind, data) = url.strip_prefix(INLINE)?.split_once(',')?;
        if !kind.ends_with(";base64") {
            return None;
        }
        let bytes = STANDARD
            .decode(data)
            .map_err(|error| ErrorKind::BadSourceMap { message: error.to_string() }.into());
        Some(bytes.and_then(|bytes| SourceMap::parse(&bytes)))
    }

    /// The source files.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The first and the last offset that it knows; `None` for an empty map.
    pub fn range(&self) -> Option<(u64, u64)> {
        Some((self.segments.first()?.column, self.segments.last()?.column))
    }

    /// The first place of the source that the instructions in a range of offsets come from: number of the file, and the
    /// line, from 1.
    pub fn place(&self, range: Range<u64>) -> Option<(u32, u32)> {
        let place = self.within(range).iter().find_map(|segment| segment.place)?;
        Some((place.file, place.line.saturating_add(1)))
    }

    /// The name that the first of these instructions has, if it is known.
    pub fn name(&self, range: Range<u64>) -> Option<&str> {
        let name = self.within(range).iter().find_map(|segment| segment.place)?.name?;
        Some(self.names.get(name as usize)?.as_str()).filter(|name| !name.is_empty())
    }

    /// The places that instructions in a range of offsets come from: the offset from the range's beginning, the file's number
    /// and the line, from 1.
    pub(crate) fn rows(&self, range: Range<u64>) -> impl Iterator<Item = (u64, Option<(u32, u32)>)> + '_ {
        let start = range.start;
        self.within(range).iter().map(move |segment| {
            let place = segment.place.map(|place| (place.file, place.line.saturating_add(1)));
            (segment.column - start, place)
        })
    }

    fn within(&self, range: Range<u64>) -> &[Segment] {
        let from = self.segments.partition_point(|segment| segment.column < range.start);
        let to = self.segments.partition_point(|segment| segment.column < range.end);
        self.segments.get(from..to).unwrap_or_default()
    }

    /// The map of a module after its code has moved, as JSON. For an offset in a function's body, `moved`
    /// returns the new offset and the body's new start, and `first` the new offset of the body's first
    /// original instruction.
    pub(crate) fn moved(
        &self,
        moved: impl Fn(u64) -> Option<Moved>,
        first: impl Fn(u64) -> Option<u64>,
    ) -> String {
        let mut segments: Vec<Segment> = Vec::with_capacity(self.segments.len());
        let mut body = None;
        for segment in &self.segments {
            let Some(to) = moved(segment.column) else { continue };
            // Code inserted before a body belongs to its first line, not to the previous function. The body's
            // own code before that line has no line.
            if body != Some(to.body) && to.body < to.offset && segment.place.is_some() {
                segments.push(Segment { column: to.body, ..*segment });
                let first = first(segment.column).filter(|&first| first < to.offset);
                segments.extend(first.map(|column| Segment { column, place: None }));
            }
            body = Some(to.body);
            segments.push(Segment { column: to.offset, ..*segment });
        }
        segments.sort_by_key(|segment| segment.column);
        let mut json = self.json.clone();
        json.insert("mappings".to_owned(), write(&segments).into());
        Value::Object(json).to_string()
    }
}

/// The new place of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Its offset in the new module.
    pub(crate) offset: u64,
    /// The new offset of its body.
    pub(crate) body: u64,
}

/// A map's address with the map in it.
pub(crate) fn to_inline(json: &str) -> String {
    format!("{INLINE}application/json;base64,{}", STANDARD.encode(json))
}

/// The most values of a map's JSON: one takes some hundred bytes in memory, and three in the file.
const MAX_VALUES: usize = 1 << 21;
/// The most bytes that the folder before each file may take in all.
const MAX_ROOTS: usize = 64 << 20;
/// The most mappings of a map. One takes two bytes in the file, and more here.
const MAX_SEGMENTS: usize = 1 << 23;

/// At least the number of values in a JSON document but the outermost: each follows one of these signs outside of strings.
fn values(json: &[u8]) -> usize {
    let (mut is_string, mut is_escaped) = (false, false);
    let is_sign = |byte: &&u8| {
        match **byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b'[' | b',' | b':' => return !is_string,
            _ => {}
        }
        false
    };
    json.iter().filter(is_sign).count()
}

/// Reads the mappings of the first line. `None` if they are broken. What is of a file that isn't there has no place, as ECMA-426 wants it:
/// some tools cut system libraries off the list of files.
fn read(mappings: &str, files: usize, names: usize) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let (mut column, mut file, mut line, mut source_column, mut name) = (0_i64, 0_i64, 0_i64, 0_i64, 0_i64);
    let in_u32 = |number: i64| u32::try_from(number).ok();
    let first_line = mappings.split(';').next().unwrap_or_default();
    for text in first_line.split(',').filter(|text| !text.is_empty()) {
        let mut bytes = text.bytes().peekable();
        let add = |sum: &mut i64, bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>| {
            *sum = sum.checked_add(vlq::decode(bytes).ok()?)?;
            Some(())
        };
        add(&mut column, &mut bytes)?;
        let mut place = None;
        if bytes.peek().is_some() {
            add(&mut file, &mut bytes)?;
            add(&mut line, &mut bytes)?;
            add(&mut source_column, &mut bytes)?;
            let named = bytes.peek().is_some();
            if named {
                add(&mut name, &mut bytes)?;
            }
            let known = SourcePoint {
                file: in_u32(file)?,
                line: in_u32(line)?,
                column: in_u32(source_column)?,
                name: match named {
                    true => Some(in_u32(name)?).filter(|&name| (name as usize) < names),
                    false => None,
                },
            };
            place = Some(known).filter(|known| (known.file as usize) < files);
        }
        if segments.len() == MAX_SEGMENTS {
            return None;
        }
        segments.push(Segment { column: u64::try_from(column).ok()?, place });
    }
    segments.sort_by_key(|segment| segment.column);
    Some(segments)
}

fn write(segments: &[Segment]) -> String {
    let mut out = Vec::with_capacity(segments.len() * 8);
    let (mut column, mut last, mut name) = (0, SourcePoint { file: 0, line: 0, column: 0, name: None }, 0);
    for segment in segments {
        if !out.is_empty() {
            out.push(b',');
        }
        let mut put = |number: i64| {
            // Writing to memory doesn't fail.
            let _ = vlq::encode(number, &mut out);
        };
        put(segment.column as i64 - column);
        column = segment.column as i64;
        if let Some(place) = segment.place {
            put(i64::from(place.file) - i64::from(last.file));
            put(i64::from(place.line) - i64::from(last.line));
            put(i64::from(place.column) - i64::from(last.column));
            if let Some(named) = place.name {
                put(i64::from(named) - name);
                name = named.into();
            }
            last = place;
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> SourceMap {
        let segments = [(10, 0, 4, 2, Some(0)), (14, 1, 7, 0, None), (30, 0, 9, 1, None)];
        let segments = segments.map(|(column, file, line, source_column, name)| Segment {
            column,
            place: Some(SourcePoint { file, line, column: source_column, name }),
        });
        let json = serde_json::json!({
            "version": 3, "sources": ["a.kt", "/b.kt"], "sourceRoot": "src/", "names": ["main"],
            "mappings": write(&segments), "debugId": "7",
        });
        SourceMap::parse(json.to_string().as_bytes()).expect("a source map")
    }

    #[test]
    fn places_and_names_are_found() {
        let map = map();
        assert_eq!(map.files(), ["src/a.kt", "/b.kt"]);
        assert_eq!((map.place(8..20), map.name(8..20)), (Some((0, 5)), Some("main")));
        assert_eq!((map.place(11..20), map.name(11..20)), (Some((1, 8)), None));
        assert_eq!((map.place(15..30), map.range()), (None, Some((10, 30))));
    }

    #[test]
    fn columns_move_and_all_else_stays() {
        let to = |at| (at < 30).then_some(Moved { offset: at + 100, body: 105 });
        let early = SourceMap::parse(map().moved(to, |_| Some(108)).as_bytes()).unwrap();
        let places: Vec<(u64, bool)> =
            early.segments.iter().map(|segment| (segment.column, segment.place.is_some())).collect();
        assert_eq!(places, [(105, true), (108, false), (110, true), (114, true)]);
        let moved = map().moved(to, |_| Some(110));
        let json: Value = serde_json::from_str(&moved).unwrap();
        assert_eq!((&json["debugId"], &json["sourceRoot"]), (&"7".into(), &"src/".into()));
        let map = SourceMap::parse(moved.as_bytes()).unwrap();
        let columns: Vec<u64> = map.segments.iter().map(|segment| segment.column).collect();
        assert_eq!(columns, [105, 110, 114]);
        assert_eq!((map.place(100..110), map.place(111..120)), (Some((0, 5)), Some((1, 8))));
        let again = SourceMap::inline(&to_inline(&moved)).unwrap().unwrap();
        assert_eq!(again.segments, map.segments);
    }

    #[test]
    fn broken_maps_are_errors() {
        let of =
            |mappings: &str| format!(r#"{{"version":3,"sources":["a"],"names":[],"mappings":"{mappings}"}}"#);
        SourceMap::parse(of("AAAA,CAAC").as_bytes()).expect("a source map");
        let cut = SourceMap::parse(of("AAAAA,CCAA,CDAA").as_bytes()).expect("a source map");
        assert_eq!((cut.place(0..1), cut.place(1..2), cut.place(2..3)), (Some((0, 1)), None, Some((0, 1))));
        assert_eq!((cut.name(0..1), cut.segments.len()), (None, 3));
        let long = format!(r#"{{"version":3,"a":[{}0]}}"#, "0,".repeat(MAX_VALUES));
        let error = SourceMap::parse(long.as_bytes()).expect_err("too many values").to_string();
        assert!(error.ends_with("it has more values than maps have"), "{error}");
        assert_eq!(values(br#"{"a,": [1, "x\"[,", {"b": null}]}"#), 5);
        let broken =
            ["AC", "ADAA", "AAAAD", "D", "AADA", "!", "AA", "gggggggggggggggggggggggggggggggggggggggg"];
        for text in broken.map(of).iter().map(String::as_str).chain(["", "[]", "{}", r#"{"version":3}"#]) {
            SourceMap::parse(text.as_bytes()).expect_err(text);
        }
    }
}
