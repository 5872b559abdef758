//! pprof's profile: a sample per path of calls, with the number of calls and the self time.
//!
//! Source: `proto/profile.proto` of github.com/google/pprof. The file is compressed with gzip, as the format says.

use crate::export::paths::{MAX_FILE, Paths, Shortened, Weights};
use crate::heap::Heap;
use crate::lines::CallPlaces;
use crate::nodes::CallTree;
use crate::profile::Profile;
use crate::unit::Unit;
use flate2::Compression;
use flate2::write::GzEncoder;
use kperf_abi::FuncId;
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
    pack(profile, &profile.tree, &kinds, "time", out)
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
    pack(profile, &allocated, &kinds, "inuse_space", out)
}

/// Two values of each sample: the calls and the self time of the nodes of a tree, or what stands for them there.
struct Kind<'a> {
    tree: &'a CallTree,
    /// Their names and units.
    names: [(&'static str, &'static str); 2],
    /// What is written for a self time in ticks.
    scale: &'a dyn Fn(u64) -> u64,
}

/// `tree`: the paths, which are those of each kind.
fn pack(
    profile: &Profile,
    tree: &CallTree,
    kinds: &[Kind<'_>],
    default: &str,
    mut out: impl Write,
) -> io::Result<Shortened> {
    let gzip = GzEncoder::new(&mut out, Compression::default());
    let mut gzip = BufWriter::with_capacity(BUFFER, gzip);
    let shortened = write_message(profile, tree, kinds, default, &mut gzip)?;
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
    // Of each function, and of each line of it that is known to call what was called there.
    let mut functions: FxHashMap<FuncId, (u64, u64)> = FxHashMap::default();
    let mut locations: FxHashMap<(FuncId, u32), u64> = FxHashMap::default();
    let mut location = |message: &mut proto::Profile, func: FuncId, line: u32| {
        let (function_id, mapping_id) = *functions.entry(func).or_insert_with(|| {
            let id = message.function.len() as u64 + 1;
            let mapping = symbols.tables().iter().position(|table| table.get(func).is_some());
            let (name, module) = (symbols.label(func), mapping.and_then(|at| symbols.tables().get(at)));
            let system_name = symbols.get(func).map_or(name.clone(), |symbol| symbol.name.to_string());
            let source = symbols.source(func);
            let file = source.map(|(file, _)| file).or(module.map(|table| table.module.name.as_str()));
            message.function.push(proto::Function {
                id,
                name: strings.id(&name),
                system_name: strings.id(&system_name),
                filename: strings.id(file.unwrap_or_default()),
                start_line: source.map_or(0, |(_, line)| line.into()),
            });
            (id, mapping.map_or(0, |at| at as u64 + 1))
        });
        *locations.entry((func, line)).or_insert_with(|| {
            let id = message.location.len() as u64 + 1;
            let line = vec![proto::Line { function_id, line: line.into() }];
            message.location.push(proto::Location { id, mapping_id, address: u64::from(func.0), line });
            id
        })
    };
    let mut places = CallPlaces::new(symbols);
    let mut path: Vec<u64> = Vec::new();
    let paths: Vec<Paths> =
        kinds.iter().map(|kind| Paths::new(kind.tree, |_| LOCATION_LEN, MAX_FILE)).collect();
    let shortened = paths.first().map(|paths| paths.shortened).unwrap_or_default();
    let (mut result, mut bytes) = (Ok(()), Vec::new());
    tree.walk(|id, entered| {
        let Some(node) = tree.get(id).filter(|_| result.is_ok()) else { return };
        if paths.iter().any(|paths| paths.weights(tree, id).is_none()) {
            return;
        }
        if !entered {
            path.pop();
            return;
        }
        let caller = tree.get(node.parent).map(|caller| caller.func);
        if let (Some(last), Some(caller)) = (path.last_mut(), caller) {
            let line = places.line(caller, node.func).unwrap_or(0);
            *last = location(&mut message, caller, line);
        }
        path.push(location(&mut message, node.func, 0));
        let values = kinds.iter().zip(&paths).flat_map(|(kind, paths)| {
            let Weights { calls, self_ticks } = paths.weights(kind.tree, id).unwrap_or_default();
            [calls, (kind.scale)(self_ticks)]
        });
        let value: Vec<i64> = values.map(|value| value.min(i64::MAX as u64) as i64).collect();
        if value.iter().all(|&value| value == 0) {
            return;
        }
        // The innermost function comes first.
        let location_id = path.iter().rev().copied().collect();
        let sample = vec![proto::Sample { location_id, value }];
        bytes.clear();
        let encoded = proto::Profile { sample, ..proto::Profile::default() }.encode(&mut bytes);
        result = encoded.map_err(io::Error::other).and_then(|()| out.write_all(&bytes));
    });
    result?;
    message.string_table = strings.table;
    out.write_all(&message.encode_to_vec())?;
    Ok(shortened)
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

/// The messages, as far as they are used.
mod proto {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub(super) sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub(super) sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub(super) mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub(super) location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub(super) function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub(super) string_table: Vec<String>,
        #[prost(int64, tag = "9")]
        pub(super) time_nanos: i64,
        #[prost(int64, tag = "10")]
        pub(super) duration_nanos: i64,
        #[prost(int64, tag = "14")]
        pub(super) default_sample_type: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct ValueType {
        #[prost(int64, tag = "1")]
        pub(super) r#type: i64,
        #[prost(int64, tag = "2")]
        pub(super) unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub(super) location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub(super) value: Vec<i64>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct Mapping {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(uint64, tag = "2")]
        pub(super) memory_start: u64,
        #[prost(uint64, tag = "3")]
        pub(super) memory_limit: u64,
        #[prost(int64, tag = "5")]
        pub(super) filename: i64,
        #[prost(int64, tag = "6")]
        pub(super) build_id: i64,
        #[prost(bool, tag = "7")]
        pub(super) has_functions: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Location {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(uint64, tag = "2")]
        pub(super) mapping_id: u64,
        #[prost(uint64, tag = "3")]
        pub(super) address: u64,
        #[prost(message, repeated, tag = "4")]
        pub(super) line: Vec<Line>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct Line {
        #[prost(uint64, tag = "1")]
        pub(super) function_id: u64,
        #[prost(int64, tag = "2")]
        pub(super) line: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct Function {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(int64, tag = "2")]
        pub(super) name: i64,
        #[prost(int64, tag = "3")]
        pub(super) system_name: i64,
        #[prost(int64, tag = "4")]
        pub(super) filename: i64,
        #[prost(int64, tag = "5")]
        pub(super) start_line: i64,
    }
}
