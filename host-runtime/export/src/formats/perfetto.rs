//! Perfetto's trace, as protobuf: a track for each lane, a slice for each call.
//!
//! Source: `protos/perfetto/trace/` of github.com/google/perfetto. Packets are written one by one; names are interned.

use kperf_abi::FuncId;
use kperf_profile::frames::{AtRange, Ending, TraceVisitor, Visitor};
use kperf_profile::{CallFilter, Exported, MAX_CACHED, Symbols, nanos_since_anchor, pause_as_call, visit};
use kperf_trace::{Header, LaneId, TraceReader};
use prost::Message;
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};

/// Writes the calls of a trace that a filter lets through, while it is read; `program` is the process's name.
///
/// Fails where reading or writing does; `progress` gets the number of bytes read.
pub fn write<R: Read, W: Write>(
    mut reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    program: &str,
    out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    let header = reader.header().clone();
    let (names, lanes, bytes) = (FxHashMap::default(), FxHashMap::default(), Vec::new());
    let mut packets = Packets { out, header, symbols: Symbols::default(), names, lanes, bytes };
    packets.process(program)?;
    let (mut packets, exported) = visit(&mut reader, packets, filter, AtRange::Whole, &mut progress)?;
    packets.out.flush()?;
    Ok(exported)
}

/// Everything is one sequence of packets.
const SEQUENCE: u32 = 1;
/// The track of the process; the tracks of lanes follow.
const PROCESS: u64 = 1;

struct Packets<W> {
    out: W,
    header: Header,
    symbols: Symbols,
    /// Interned names, numbered from 1.
    names: FxHashMap<FuncId, u64>,
    /// The tracks of the lanes.
    lanes: FxHashMap<LaneId, u64>,
    /// A packet's bytes, kept for the next one.
    bytes: Vec<u8>,
}

impl<W: Write> Packets<W> {
    fn write(&mut self, packet: proto::Packet) -> io::Result<()> {
        self.bytes.clear();
        // The file is a message with a repeated field of packets.
        proto::Trace { packet: vec![packet] }.encode(&mut self.bytes)?;
        self.out.write_all(&self.bytes)
    }

    fn process(&mut self, program: &str) -> io::Result<()> {
        let process = proto::Process { pid: 1, process_name: program.to_owned() };
        let track = proto::Track { uuid: PROCESS, process: Some(process), ..proto::Track::default() };
        self.write(proto::Packet {
            sequence: SEQUENCE,
            // Readers forget all interned strings.
            sequence_flags: 1,
            track: Some(track),
            ..proto::Packet::default()
        })
    }

    /// Makes readers forget all interned strings.
    fn forget(&mut self) -> io::Result<()> {
        self.write(proto::Packet { sequence: SEQUENCE, sequence_flags: 1, ..proto::Packet::default() })
    }

    fn event(
        &mut self,
        lane: LaneId,
        ticks: u64,
        event: proto::Event,
        interned: Option<proto::Interned>,
    ) -> io::Result<()> {
        let track = self.lanes.get(&lane).copied().unwrap_or(PROCESS);
        self.write(proto::Packet {
            timestamp: Some(nanos_since_anchor(&self.header, ticks)),
            sequence: SEQUENCE,
            event: Some(proto::Event { track, ..event }),
            interned,
            // Needs what was interned before.
            sequence_flags: 2,
            track: None,
        })
    }

    fn instant(&mut self, lane: LaneId, ticks: u64, name: String) -> io::Result<()> {
        let event = proto::Event { kind: INSTANT, name: Some(name), ..proto::Event::default() };
        self.event(lane, ticks, event, None)
    }
}

const BEGIN: i32 = 1;
const END: i32 = 2;
const INSTANT: i32 = 3;

impl<W: Write> Visitor for Packets<W> {
    type Frame = ();
    type Error = io::Error;

    fn lane(&mut self, lane: LaneId, _start_ticks: u64) -> io::Result<()> {
        let uuid = PROCESS + 1 + self.lanes.len() as u64;
        self.lanes.insert(lane, uuid);
        let thread =
            proto::Thread { pid: 1, tid: uuid.min(i32::MAX as u64) as i32, name: format!("lane {lane}") };
        let track = proto::Track { uuid, parent: PROCESS, thread: Some(thread), ..proto::Track::default() };
        let packet =
            proto::Packet { sequence: SEQUENCE, sequence_flags: 2, track: Some(track), ..Default::default() };
        self.write(packet)
    }

    fn enter(&mut self, lane: LaneId, _parents: &mut [()], func: FuncId, ticks: u64) -> io::Result<()> {
        if self.names.len() >= MAX_CACHED {
            self.names.clear();
            self.forget()?;
        }
        let next = self.names.len() as u64 + 1;
        let iid = *self.names.entry(func).or_insert(next);
        let interned = (iid == next).then(|| {
            let name = self.symbols.label(func);
            proto::Interned { names: vec![proto::Name { iid, name }] }
        });
        let event = proto::Event { kind: BEGIN, name_iid: Some(iid), ..proto::Event::default() };
        self.event(lane, ticks, event, interned)
    }

    fn leave(
        &mut self,
        lane: LaneId,
        _parents: &mut [()],
        _frame: (),
        ending: Ending,
        ticks: u64,
    ) -> io::Result<()> {
        let note = |how: &str| proto::Annotation { value: Some(how.to_owned()), name: "ended".to_owned() };
        let annotations = ending.as_str().map(note).into_iter().collect();
        let event = proto::Event { kind: END, annotations, ..proto::Event::default() };
        self.event(lane, ticks, event, None)
    }

    fn mark(&mut self, lane: LaneId, _open: &mut [()], value: u32, ticks: u64) -> io::Result<()> {
        self.instant(lane, ticks, format!("mark {value}"))
    }

    fn lost(&mut self, lane: LaneId, _open: &mut [()], events: Option<u64>, ticks: u64) -> io::Result<()> {
        let text = events.map_or("events lost".to_owned(), |events| format!("{events} events lost"));
        self.instant(lane, ticks, text)
    }

    fn pause(
        &mut self,
        lane: LaneId,
        open: &mut [()],
        func: FuncId,
        paused: u64,
        ticks: u64,
    ) -> io::Result<()> {
        pause_as_call(self, lane, open, func, paused, ticks)
    }
}

impl<W: Write> TraceVisitor for Packets<W> {
    fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}

/// The messages, as far as they are used.
mod proto {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Trace {
        #[prost(message, repeated, tag = "1")]
        pub(super) packet: Vec<Packet>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Packet {
        #[prost(uint64, optional, tag = "8")]
        pub(super) timestamp: Option<u64>,
        /// `trusted_packet_sequence_id`
        #[prost(uint32, tag = "10")]
        pub(super) sequence: u32,
        #[prost(message, optional, tag = "11")]
        pub(super) event: Option<Event>,
        #[prost(message, optional, tag = "12")]
        pub(super) interned: Option<Interned>,
        #[prost(uint32, tag = "13")]
        pub(super) sequence_flags: u32,
        #[prost(message, optional, tag = "60")]
        pub(super) track: Option<Track>,
    }

    /// `TrackEvent`
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Event {
        #[prost(message, repeated, tag = "4")]
        pub(super) annotations: Vec<Annotation>,
        #[prost(int32, tag = "9")]
        pub(super) kind: i32,
        #[prost(uint64, optional, tag = "10")]
        pub(super) name_iid: Option<u64>,
        #[prost(uint64, tag = "11")]
        pub(super) track: u64,
        #[prost(string, optional, tag = "23")]
        pub(super) name: Option<String>,
    }

    /// `DebugAnnotation`
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Annotation {
        #[prost(string, optional, tag = "6")]
        pub(super) value: Option<String>,
        #[prost(string, tag = "10")]
        pub(super) name: String,
    }

    /// `InternedData`
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Interned {
        #[prost(message, repeated, tag = "2")]
        pub(super) names: Vec<Name>,
    }

    /// `EventName`
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Name {
        #[prost(uint64, tag = "1")]
        pub(super) iid: u64,
        #[prost(string, tag = "2")]
        pub(super) name: String,
    }

    /// `TrackDescriptor`
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Track {
        #[prost(uint64, tag = "1")]
        pub(super) uuid: u64,
        #[prost(message, optional, tag = "3")]
        pub(super) process: Option<Process>,
        #[prost(message, optional, tag = "4")]
        pub(super) thread: Option<Thread>,
        #[prost(uint64, tag = "5")]
        pub(super) parent: u64,
    }

    /// `ProcessDescriptor`
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Process {
        #[prost(int32, tag = "1")]
        pub(super) pid: i32,
        #[prost(string, tag = "6")]
        pub(super) process_name: String,
    }

    /// `ThreadDescriptor`
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Thread {
        #[prost(int32, tag = "1")]
        pub(super) pid: i32,
        #[prost(int32, tag = "2")]
        pub(super) tid: i32,
        #[prost(string, tag = "5")]
        pub(super) name: String,
    }
}
