//! pprof's profile: a sample per path of calls, with the number of calls and the self time.
//!
//! Source: `proto/profile.proto` of github.com/google/pprof. The file is compressed with gzip, as the format says.

use crate::profile::Profile;
use flate2::Compression;
use flate2::write::GzEncoder;
use kperf_abi::FuncId;
use prost::Message;
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// Writes a profile. A function's `filename` is its module.
pub fn write(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    let mut gzip = GzEncoder::new(&mut out, Compression::default());
    gzip.write_all(&message(profile).encode_to_vec())?;
    gzip.finish()?;
    out.flush()
}

fn message(profile: &Profile) -> proto::Profile {
    let Profile { tree, symbols, header, .. } = profile;
    let mut strings = Strings::default();
    strings.id("");
    let value_type = |strings: &mut Strings, name, unit| proto::ValueType {
        r#type: strings.id(name),
        unit: strings.id(unit),
    };
    let calls = value_type(&mut strings, "calls", "count");
    let time = value_type(&mut strings, "time", "nanoseconds");
    let mut message = proto::Profile {
        sample_type: vec![calls, time],
        time_nanos: header.unix_nanos(profile.start_ticks).min(i64::MAX as u64) as i64,
        duration_nanos: profile.wall_nanos().min(i64::MAX as u64) as i64,
        default_sample_type: strings.id("time"),
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
    // Of each function; a function has one location.
    let mut locations: FxHashMap<FuncId, u64> = FxHashMap::default();
    let mut location = |message: &mut proto::Profile, func: FuncId| {
        *locations.entry(func).or_insert_with(|| {
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
            let line = vec![proto::Line { function_id: id }];
            let mapping_id = mapping.map_or(0, |at| at as u64 + 1);
            message.location.push(proto::Location { id, mapping_id, address: u64::from(func.0), line });
            id
        })
    };
    let mut path: Vec<u64> = Vec::new();
    tree.walk(|id, entered| {
        let Some(node) = tree.get(id) else { return };
        if !entered {
            path.pop();
            return;
        }
        path.push(location(&mut message, node.func));
        // The innermost function comes first.
        let location_id = path.iter().rev().copied().collect();
        let value =
            [node.calls, header.nanos(node.self_ticks)].map(|value| value.min(i64::MAX as u64) as i64);
        message.sample.push(proto::Sample { location_id, value: value.to_vec() });
    });
    message.string_table = strings.table;
    message
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
