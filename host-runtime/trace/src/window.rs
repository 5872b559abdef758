//! A window of a profile: the payload of a `PROF` chunk. FORMAT.md, "Profiles".

use crate::codec::{Packer, Unpacker};
use crate::context::SpanLink;
use kperf_abi::word::WAIT_ID;
use kperf_abi::{FuncId, leb128, tree};

/// A period of a recorder's profile: exact counts of calls, and a tree of the paths that samples found.
/// The windows of a recorder follow each other without overlap, so their sum is the whole profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// The recorder.
    pub recorder: u32,
    /// When it began, a reading of the trace's clock.
    pub start_ticks: u64,
    /// When it ended.
    pub end_ticks: u64,
    /// The period of samples, in nanoseconds.
    pub period_nanos: u64,
    /// Calls that took at least so many nanoseconds are also in the trace one by one; 0 if none are.
    pub span_min_nanos: u64,
    /// How many samples found the open calls, or none.
    pub samples: u64,
    /// How many samples failed: the stack changed during each try.
    pub torn: u64,
    /// How many samples had a path that was too deep, or for which there was no room. They count for the path's outer
    /// part.
    pub cut: u64,
    /// How long no call was open, in ticks, as estimated from the samples.
    pub idle_ticks: u64,
    /// The sum of the squares of the samples' ticks, which gives the accuracy of sums.
    pub squares: f64,
    /// The paths. Parents come before their children.
    pub nodes: Vec<WindowNode>,
    /// How often each function was called in this window, by increasing id. Functions that were not called are left out.
    pub calls: Vec<(FuncId, u64)>,
    /// The places of samples in the innermost calls' functions, as far as known, in the order of the nodes.
    pub places: Vec<WindowPlace>,
    /// How often each path was called, in the order of the nodes; empty if only the calls of functions are counted.
    pub node_calls: Vec<u64>,
    /// The parent span of all host's calls that this window counts; `None` if they have different parents or none is known.
    pub parent: Option<SpanLink>,
}

/// The function of a node that is time in which the thread was ready to run and had no processor.
pub const WAITING_FOR_PROCESSOR: FuncId = FuncId(u32::MAX - 5);
/// The function of a node that is time in which the thread waited for anything else.
pub const WAITING: FuncId = FuncId(u32::MAX - 6);

/// A place in the function of a node, where samples found the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPlace {
    /// Index of the node.
    pub node: u32,
    /// The offset in the function's body in the original module, in bytes.
    pub offset: u32,
    /// How many samples found it there.
    pub samples: u64,
    /// The time of these samples, in ticks: a part of the node's.
    pub ticks: u64,
}

/// A path of open calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowNode {
    /// Index of the node of the caller's path, which comes before this node; `None` if the host made the call.
    pub parent: Option<u32>,
    /// The innermost call's function.
    pub func: FuncId,
    /// How many samples found exactly this path.
    pub samples: u64,
    /// The time of these samples, in ticks.
    pub self_ticks: u64,
}

/// Length of the fields before the numbers.
const ENVELOPE_LEN: usize = 8;
/// The maximal length of a body in bytes, to limit memory.
const MAX_BODY: usize = 64 << 20;
/// The maximal number of nodes: samplers keep a quarter of that.
const MAX_NODES: u64 = 1 << 20;
/// The maximal number of functions with calls: engines refuse modules with more.
const MAX_CALLS: u64 = 1 << 20;
/// A node takes at least a byte for each of its numbers.
const NODE_LEN: u64 = 4;
/// So does a place.
const PLACE_LEN: u64 = 4;

impl Window {
    /// How many calls it counts.
    pub fn call_count(&self) -> u64 {
        let of_functions = self.calls.iter().map(|(_, calls)| calls);
        of_functions.chain(&self.node_calls).fold(0, |sum, calls| sum.saturating_add(*calls))
    }

    /// Separates the waits of the guest's own ([`WAIT_ID`]) from its calls: their nodes get the function [`WAITING`], and their samples
    /// are not in the sum of squares. A wait outside of all calls is idle time.
    pub fn separate_waits(&mut self) {
        if !self.nodes.iter().any(|node| node.func == FuncId(WAIT_ID)) {
            return;
        }
        let square = |ticks: u64, samples: u64| (ticks as f64).powi(2) / samples.max(1) as f64;
        let (mut waits, mut busy_ticks, mut busy_samples) = (0.0, 0u64, 0u64);
        for index in 0..self.nodes.len() {
            let Some(&WindowNode { parent, func, samples, self_ticks }) = self.nodes.get(index) else {
                return;
            };
            if func == FuncId(WAIT_ID) {
                waits += square(self_ticks, samples);
            } else if func != WAITING && func != WAITING_FOR_PROCESSOR {
                busy_ticks = busy_ticks.saturating_add(self_ticks);
                busy_samples = busy_samples.saturating_add(samples);
                continue;
            }
            // Within a wait a thread waits no more than once.
            let around = parent.and_then(|parent| self.nodes.get(parent as usize));
            let parent =
                around.filter(|around| around.func == WAITING).map_or(parent, |around| around.parent);
            if parent.is_none() {
                self.idle_ticks = self.idle_ticks.saturating_add(self_ticks);
            }
            if let Some(node) = self.nodes.get_mut(index) {
                node.parent = parent;
                node.func = if func == FuncId(WAIT_ID) { WAITING } else { func };
            }
        }
        // Samples of different lengths have larger squares.
        self.squares = (self.squares - waits).max(square(busy_ticks, busy_samples));
    }

    /// Appends a payload to `out`.
    pub(crate) fn pack(&self, packer: &mut Packer, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        let mut put = |number: u64| leb128::write(&mut body, number);
        put(self.start_ticks);
        put(self.end_ticks.saturating_sub(self.start_ticks));
        for number in [self.period_nanos, self.span_min_nanos, self.samples, self.torn, self.cut] {
            put(number);
        }
        put(self.idle_ticks);
        put(self.squares.to_bits());
        put(self.nodes.len() as u64);
        for (index, node) in self.nodes.iter().enumerate() {
            // How far back the parent is; the host is before the first node.
            put(node.parent.map_or(index as u64 + 1, |parent| (index as u64).saturating_sub(parent.into())));
            put(node.func.0.into());
            put(node.samples);
            put(node.self_ticks);
        }
        put(self.calls.len() as u64);
        let mut next = 0;
        for &(func, calls) in &self.calls {
            put(u64::from(func.0).saturating_sub(next));
            put(calls);
            next = u64::from(func.0) + 1;
        }
        if !self.places.is_empty() || self.parent.is_some() || !self.node_calls.is_empty() {
            put(self.places.len() as u64);
            let mut node = 0;
            for place in &self.places {
                put(u64::from(place.node.saturating_sub(node)));
                node = place.node.max(node);
                [place.offset.into(), place.samples, place.ticks].into_iter().for_each(&mut put);
            }
        }
        if let Some(SpanLink { trace_id, span_id }) = &self.parent {
            leb128::write(&mut body, 1);
            body.extend(trace_id);
            body.extend(span_id);
        }
        if !self.node_calls.is_empty() {
            if self.parent.is_none() {
                leb128::write(&mut body, 0);
            }
            self.node_calls.iter().for_each(|&calls| leb128::write(&mut body, calls));
        }
        let start = out.len();
        out.resize(start + ENVELOPE_LEN, 0);
        let packed = packer.pack(&body, out);
        let envelope = &mut out[start..start + ENVELOPE_LEN];
        envelope[0] = packed.into();
        envelope[4..].copy_from_slice(&(body.len() as u32).to_le_bytes());
    }

    /// Reads a payload; `body` is room for what is unpacked.
    pub(crate) fn unpack(
        recorder: u32,
        payload: &[u8],
        unpacker: &mut Unpacker,
        body: &mut Vec<u8>,
    ) -> Result<Window, &'static str> {
        let (envelope, stored) = payload.split_first_chunk::<ENVELOPE_LEN>().ok_or("it is too short")?;
        let [packed, _, _, _, length @ ..] = *envelope;
        let length = u32::from_le_bytes(length) as usize;
        let mut numbers = match packed {
            0 if stored.len() == length => Numbers(stored),
            0 => return Err("it isn't as long as it claims"),
            1 if length > MAX_BODY => return Err("it is too long"),
            1 => {
                unpacker.unpack(stored, length, body)?;
                Numbers(body)
            }
            _ => return Err("its codec is unknown"),
        };
        let start_ticks = numbers.next()?;
        let mut window = Window {
            recorder,
            start_ticks,
            end_ticks: start_ticks.saturating_add(numbers.next()?),
            period_nanos: numbers.next()?,
            span_min_nanos: numbers.next()?,
            samples: numbers.next()?,
            torn: numbers.next()?,
            cut: numbers.next()?,
            idle_ticks: numbers.next()?,
            squares: f64::from_bits(numbers.next()?),
            ..Window::default()
        };
        if !window.squares.is_finite() || window.squares < 0.0 {
            return Err("its sum of squares is none");
        }
        for index in 0..numbers.count(NODE_LEN, MAX_NODES)? {
            let parent = match numbers.next()? {
                0 => return Err("a node has no parent"),
                back if back == index + 1 => None,
                back => Some(index.checked_sub(back).ok_or("a node has no parent")? as u32),
            };
            let func = numbers.node_func()?;
            let [samples, self_ticks] = [numbers.next()?, numbers.next()?];
            window.nodes.push(WindowNode { parent, func, samples, self_ticks });
        }
        let mut next = 0;
        for _ in 0..numbers.count(2, MAX_CALLS)? {
            let func = numbers.func(next)?;
            next = u64::from(func.0) + 1;
            window.calls.push((func, numbers.next()?));
        }
        // Version 1.3 added this.
        if !numbers.0.is_empty() {
            window.places = numbers.places(window.nodes.len())?;
        }
        if !numbers.0.is_empty() {
            window.parent = numbers.parent()?;
        }
        // So did version 1.5.
        if !numbers.0.is_empty() {
            for _ in &window.nodes {
                window.node_calls.push(numbers.next()?);
            }
        }
        window.separate_waits();
        Ok(window)
    }
}

/// The numbers of a body that are not read yet.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Result<u64, &'static str> {
        leb128::read(&mut self.0).ok_or("it ends inside a number")
    }

    /// A count of entries with at least so many bytes each; at most `most`.
    fn count(&mut self, bytes: u64, most: u64) -> Result<u64, &'static str> {
        let count = self.next()?;
        if count > most {
            return Err("it has too many entries");
        }
        let fits = count.checked_mul(bytes).is_some_and(|bytes| bytes <= self.0.len() as u64);
        if fits { Ok(count) } else { Err("it ends inside a number") }
    }

    /// The places in the functions of so many nodes.
    fn places(&mut self, nodes: usize) -> Result<Vec<WindowPlace>, &'static str> {
        let mut places = Vec::new();
        let mut node = 0u64;
        for _ in 0..self.count(PLACE_LEN, MAX_NODES)? {
            node = node.saturating_add(self.next()?);
            if node >= nodes as u64 {
                return Err("a place has no node");
            }
            let offset = u32::try_from(self.next()?).map_err(|_| "a place is beyond all code")?;
            let [samples, ticks] = [self.next()?, self.next()?];
            places.push(WindowPlace { node: node as u32, offset, samples, ticks });
        }
        Ok(places)
    }

    /// The next span, if there is one. Ids that are all zeros are none.
    fn parent(&mut self) -> Result<Option<SpanLink>, &'static str> {
        match self.next()? {
            0 => Ok(None),
            1 => {
                let (trace_id, rest) = self.0.split_first_chunk().ok_or("it ends inside a number")?;
                let (span_id, rest) = rest.split_first_chunk().ok_or("it ends inside a number")?;
                self.0 = rest;
                let link = SpanLink { trace_id: *trace_id, span_id: *span_id };
                Ok(Some(link).filter(|link| link.trace_id != [0; 16] && link.span_id != [0; 8]))
            }
            _ => Err("it has several parents"),
        }
    }

    /// The id of a node's function, of a wait or of calls for which there was no room.
    fn node_func(&mut self) -> Result<FuncId, &'static str> {
        let id = self.next()?;
        let others = [WAITING_FOR_PROCESSOR, WAITING, FuncId(tree::OTHER)];
        if others.iter().any(|func| u64::from(func.0) == id) {
            Ok(FuncId(id as u32))
        } else {
            func_id(Some(id))
        }
    }

    /// A function's id, as a difference.
    fn func(&mut self, base: u64) -> Result<FuncId, &'static str> {
        func_id(self.next()?.checked_add(base))
    }
}

fn func_id(id: Option<u64>) -> Result<FuncId, &'static str> {
    let id = id.filter(|&id| id <= u64::from(kperf_abi::word::MAX_FUNC_ID));
    id.map(|id| FuncId(id as u32)).ok_or("there is no such function id")
}
