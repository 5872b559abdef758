//! pprof's profile: a sample per path of calls, with the number of calls and the self time. A location has a line of each
//! function that its instruction was written in: those that are inlined, and the one around them.
//!
//! Source: `proto/profile.proto` of github.com/google/pprof. The file is compressed with gzip, as the format says.

mod proto;

use flate2::Compression;
use flate2::write::GzEncoder;
use kperf_abi::FuncId;
use kperf_profile::{
    CallPlaces, CallTree, Frame, Heap, PathWeights, Paths, Profile, Shortened, Symbols, TreePlaces, Unit,
    printable,
};
use prost::Message;
use rustc_hash::FxHashMap;
use std::io::{self, BufWriter, Write};

/// Writes a profile. A function's `filename` is its module. All paths together have a gigabyte at most: deeper ones count
/// for their outer part.
pub fn write(profile: &Profile, out: impl Write) -> io::Result<Shortened> {
    let time = match Unit::of(&profile.header) {
        Unit::Time => ("time", "nanoseconds"),
        Unit::Instructions => ("instructions", "count"),
    };
    let nanos = |ticks| profile.header.nanos(ticks);
    let kinds = [Kind { tree: &profile.tree, names: [("calls", "count"), time], scale: &nanos }];
    pack(profile, &profile.tree, &kinds, Some(&profile.tree_places), "time", out)
}

/// Writes a profile of memory: for each path how many blocks and bytes it allocated, and how many of them were there at the end.
/// As Go's and others' are.
pub fn write_heap(profile: &Profile, heap: &Heap, out: impl Write) -> io::Result<Shortened> {
    let allocated = heap.tree(&profile.tree, |figures| (figures.allocated(), figures.allocated_bytes()));
    let live = heap.tree(&profile.tree, |figures| (figures.live_blocks, figures.live_bytes));
    let kinds = [
        Kind {
            tree: &allocated,
            names: [("alloc_objects", "count"), ("alloc_space", "bytes")],
            scale: &|bytes| bytes,
        },
        Kind {
            tree: &live,
            names: [("inuse_objects", "count"), ("inuse_space", "bytes")],
            scale: &|bytes| bytes,
        },
    ];
    pack(profile, &allocated, &kinds, None, "inuse_space", out)
}

/// Two values of each sample: the calls and the self time of the nodes of a tree, or blocks and bytes in their place.
struct Kind<'a> {
    tree: &'a CallTree,
    /// Their names and units.
    names: [(&'static str, &'static str); 2],
    /// Converts a self time in ticks.
    scale: &'a dyn Fn(u64) -> u64,
}

/// `tree`: the paths of all kinds. `places`: the places of its nodes' self time, if they are known.
fn pack(
    profile: &Profile,
    tree: &CallTree,
    kinds: &[Kind<'_>],
    places: Option<&TreePlaces>,
    default: &str,
    mut out: impl Write,
) -> io::Result<Shortened> {
    let gzip = GzEncoder::new(&mut out, Compression::default());
    let mut gzip = BufWriter::with_capacity(BUFFER, gzip);
    let shortened = write_message(profile, tree, kinds, places, default, &mut gzip)?;
    gzip.into_inner()?.finish()?;
    out.flush()?;
    Ok(shortened)
}

/// How much is packed at a time.
const BUFFER: usize = 1 << 20;
/// Bytes of a location in a path, at most.
const LOCATION_LEN: usize = 4;

/// Writes the message a part after the other: its samples are most of it, and are not kept.
fn write_message(
    profile: &Profile,
    tree: &CallTree,
    kinds: &[Kind<'_>],
    places: Option<&TreePlaces>,
    default: &str,
    out: &mut impl Write,
) -> io::Result<Shortened> {
    let Profile { symbols, header, .. } = profile;
    let mut strings = Strings::default();
    strings.id("");
    let names = kinds.iter().flat_map(|kind| kind.names);
    let sample_type = names
        .map(|(name, unit)| proto::ValueType { r#type: strings.id(name), unit: strings.id(unit) })
        .collect();
    let types = proto::Profile { sample_type, ..proto::Profile::default() };
    out.write_all(&types.encode_to_vec())?;
    let mut message = proto::Profile {
        time_nanos: header.unix_nanos(profile.start_ticks).min(i64::MAX as u64) as i64,
        duration_nanos: profile.wall_nanos().min(i64::MAX as u64) as i64,
        default_sample_type: strings.id(default),
        ..proto::Profile::default()
    };
    for table in symbols.tables() {
        message.mapping.push(proto::Mapping {
            id: message.mapping.len() as u64 + 1,
            memory_start: u64::from(table.id_base),
            memory_limit: u64::from(table.id_end()),
            filename: strings.id(&table.module.name),
            build_id: strings.id(&table.module.sha256),
            has_functions: true,
        });
    }
    let mut locations =
        Locations { symbols, strings, message, functions: FxHashMap::default(), known: FxHashMap::default() };
    let mut codes = CallPlaces::new(symbols);
    let mut path: Vec<u64> = Vec::new();
    let paths: Vec<Paths> =
        kinds.iter().map(|kind| Paths::new(kind.tree, |_| LOCATION_LEN, Paths::MAX_FILE)).collect();
    let shortened = paths.first().map(|paths| paths.shortened).unwrap_or_default();
    let mut samples = Samples { out, bytes: Vec::new(), result: Ok(()) };
    tree.walk(|id, entered| {
        let Some(node) = tree.get(id).filter(|_| samples.result.is_ok()) else { return };
        if paths.iter().any(|paths| paths.weights(tree, id).is_none()) {
            return;
        }
        if !entered {
            path.pop();
            return;
        }
        let caller = tree.get(node.parent).map(|caller| caller.func);
        if let (Some(last), Some(caller)) = (path.last_mut(), caller) {
            let frames = codes.frames_of_call(profile, caller, node.func);
            *last = locations.number(caller, &frames);
        }
        path.push(locations.number(node.func, &[Frame::ANYWHERE]));
        let values = kinds.iter().zip(&paths).flat_map(|(kind, paths)| {
            let PathWeights { calls, self_ticks } = paths.weights(kind.tree, id).unwrap_or_default();
            [calls, (kind.scale)(self_ticks)]
        });
        let mut value: Vec<i64> = values.map(|value| value.min(i64::MAX as u64) as i64).collect();
        if let (Some(places), [kind], [_, self_time]) = (places, kinds, &mut value[..]) {
            for (frames, ticks) in codes.sampled(places, id, node.func) {
                let part = (*self_time).min((kind.scale)(ticks).min(i64::MAX as u64) as i64);
                *self_time -= part;
                let here = locations.number(node.func, &frames);
                samples.write(here, &path, vec![0, part]);
            }
        }
        if let Some(&last) = path.last() {
            samples.write(last, &path, value);
        }
    });
    let Samples { out, result, .. } = samples;
    result?;
    let Locations { strings, mut message, .. } = locations;
    message.string_table = strings.table;
    out.write_all(&message.encode_to_vec())?;
    Ok(shortened)
}

/// Writes samples.
struct Samples<W> {
    out: W,
    bytes: Vec<u8>,
    result: io::Result<()>,
}

impl<W: Write> Samples<W> {
    /// Writes the sample of a path with another last location, if it has a value.
    fn write(&mut self, last: u64, path: &[u64], value: Vec<i64>) {
        if self.result.is_err() || value.iter().all(|&value| value == 0) {
            return;
        }
        // The innermost function comes first.
        let location_id = [last].into_iter().chain(path.iter().rev().skip(1).copied()).collect();
        let sample = vec![proto::Sample { location_id, value }];
        self.bytes.clear();
        let encoded = proto::Profile { sample, ..proto::Profile::default() }.encode(&mut self.bytes);
        self.result = encoded.map_err(io::Error::other).and_then(|()| self.out.write_all(&self.bytes));
    }
}

/// The functions and locations of a message: of each function, and of each place of it that is known.
struct Locations<'a> {
    symbols: &'a Symbols,
    strings: Strings,
    message: proto::Profile,
    functions: FxHashMap<(FuncId, Option<u32>), u64>,
    known: FxHashMap<(FuncId, Vec<Frame>), u64>,
}

impl Locations<'_> {
    /// The number of a place in a function.
    fn number(&mut self, func: FuncId, frames: &[Frame]) -> u64 {
        let key = (func, frames.to_vec());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let line = frames.iter().map(|frame| proto::Line {
            function_id: self.function(func, frame.inlined),
            line: frame.line.into(),
        });
        let line = line.collect();
        let mapping = self.symbols.tables().iter().position(|table| table.get(func).is_some());
        let mapping_id = mapping.map_or(0, |at| at as u64 + 1);
        let id = self.message.location.len() as u64 + 1;
        self.message.location.push(proto::Location { id, mapping_id, address: u64::from(func.0), line });
        self.known.insert(key, id);
        id
    }

    /// The number of a function, or of one that is inlined in it.
    fn function(&mut self, func: FuncId, inlined: Option<u32>) -> u64 {
        let symbols = self.symbols;
        let table = symbols.tables().iter().find(|table| table.get(func).is_some());
        // An inlined function is the same wherever it is.
        let key = match (inlined, table) {
            (Some(_), Some(table)) => FuncId(table.id_base),
            _ => func,
        };
        if let Some(&known) = self.functions.get(&(key, inlined)) {
            return known;
        }
        let function = inlined.and_then(|number| symbols.inlined(func, number));
        let (name, system_name, source) = match function {
            Some(function) => {
                let name = printable(&function.name).into_owned();
                let source = function.source;
                let file = source.and_then(|source| symbols.file(func, source.file));
                (name.clone(), name, file.map(|file| (file, source.map_or(0, |source| source.line))))
            }
            None => {
                let name = symbols.label(func);
                let system_name = symbols.get(func).map_or(name.clone(), |symbol| symbol.name.to_string());
                (name, system_name, symbols.source(func))
            }
        };
        let file = source.map(|(file, _)| file).or(table.map(|table| table.module.name.as_str()));
        let id = self.message.function.len() as u64 + 1;
        self.message.function.push(proto::Function {
            id,
            name: self.strings.id(&name),
            system_name: self.strings.id(&system_name),
            filename: self.strings.id(file.unwrap_or_default()),
            start_line: source.map_or(0, |(_, line)| line.into()),
        });
        self.functions.insert((key, inlined), id);
        id
    }
}

/// The string table, each string once.
#[derive(Default)]
struct Strings {
    ids: FxHashMap<String, i64>,
    table: Vec<String>,
}

impl Strings {
    fn id(&mut self, text: &str) -> i64 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.table.len() as i64;
        self.ids.insert(text.to_owned(), id);
        self.table.push(text.to_owned());
        id
    }
}
