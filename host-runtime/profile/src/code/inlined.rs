//! Call sites of functions, and the functions inlined there.

use crate::reading::profile::Profile;
use crate::sampled::sampling::TreePlaces;
use crate::symbols::{Symbols, printable};
use crate::tree::nodes::NodeId;
use kperf_abi::{FuncId, FunctionCode, Source};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The places where a function may be called.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sites {
    /// In the order of their files and lines.
    pub(crate) known: Vec<Source>,
    /// Whether it may be one that isn't known.
    pub(crate) or_unknown: bool,
}

/// A function that an instruction was written in, and the line there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Number of the inlined function, as [`Symbols::inlined`] has it; `None`: it is the function's own.
    pub inlined: Option<u32>,
    /// The line of the function's own file; 0 if it isn't known, or is of another file.
    pub line: u32,
}

impl Frame {
    /// The function itself, wherever in it.
    pub const ANYWHERE: Frame = Frame { inlined: None, line: 0 };
}

/// The call sites of a trace's functions, and the functions inlined there. Each function's code is unpacked once.
pub struct CallPlaces<'a> {
    pub(super) symbols: &'a Symbols,
    pub(super) known: FxHashMap<FuncId, FunctionCode>,
    /// The places of calls, by caller and callee.
    pub(super) calls: FxHashMap<(FuncId, FuncId), Sites>,
}

impl<'a> CallPlaces<'a> {
    /// Those of the functions of a trace.
    pub fn new(symbols: &'a Symbols) -> CallPlaces<'a> {
        CallPlaces { symbols, known: FxHashMap::default(), calls: FxHashMap::default() }
    }

    pub(crate) fn of(&mut self, func: FuncId) -> &FunctionCode {
        self.known.entry(func).or_insert_with(|| self.symbols.code(func))
    }

    /// The offsets in the caller where it may call another function.
    fn offsets(&mut self, caller: FuncId, callee: FuncId) -> Vec<u32> {
        let Some(symbol) = self.symbols.get(callee) else { return Vec::new() };
        let class = self.of(callee).class;
        self.of(caller).sites_of(symbol.func_index, class)
    }

    /// The lines where a function may call another, in their order.
    pub(crate) fn call_places(&mut self, caller: FuncId, callee: FuncId) -> Sites {
        if let Some(known) = self.calls.get(&(caller, callee)) {
            return known.clone();
        }
        let places = self.find_call_places(caller, callee);
        self.calls.insert((caller, callee), places.clone());
        places
    }

    fn find_call_places(&mut self, caller: FuncId, callee: FuncId) -> Sites {
        let sites = self.offsets(caller, callee);
        let code = self.of(caller);
        let sources = sites.iter().map(|&offset| code.source(offset).filter(|source| source.line > 0));
        let mut found = Sites { or_unknown: sites.is_empty(), ..Sites::default() };
        for source in sources {
            found.known.extend(source);
            found.or_unknown |= source.is_none();
        }
        found.known.sort_unstable_by_key(|source| (source.file, source.line));
        found.known.dedup();
        found
    }

    /// The places where a function may call another, for people: `life.rs:12|40|?, in outer > inner`. Empty if none is known. `is_whole`:
    /// no call was left out in between.
    pub fn text(&mut self, caller: FuncId, callee: FuncId, is_whole: bool) -> String {
        let Sites { known, or_unknown } = self.call_places(caller, callee);
        let mut text = String::new();
        let mut file = None;
        for place in known.iter().take(MAX_TOLD) {
            if !text.is_empty() {
                text.push('|');
            }
            if file != Some(place.file) {
                file = Some(place.file);
                text.push_str(&printable(self.symbols.file(caller, place.file).unwrap_or_default()));
                text.push(':');
            }
            text.push_str(&place.line.to_string());
        }
        if !text.is_empty() && (or_unknown || !is_whole || known.len() > MAX_TOLD) {
            text.push_str("|?");
        }
        if let ([way], false) = (&self.ways(caller, callee)[..], text.is_empty())
            && !way.is_empty()
        {
            text.push_str(", in ");
            text.push_str(way);
        }
        text
    }

    /// Through which inlined functions a function has an instruction: `outer > inner`; empty if it is its own.
    pub(crate) fn way(&mut self, func: FuncId, offset: u32) -> String {
        let symbols = self.symbols;
        let mut way = String::new();
        let calls: Vec<u32> = self.of(func).inlined.at(offset).map(|call| call.function).collect();
        for function in calls.into_iter().rev() {
            let Some(function) = symbols.inlined(func, function) else { continue };
            if !way.is_empty() {
                way.push_str(" > ");
            }
            if way.len() > MAX_WAY {
                way.push_str("..");
                break;
            }
            way.push_str(&printable(&function.name));
        }
        way
    }

    /// The same for the calls that a function may make of another. Those that aren't inlined are empty.
    pub(crate) fn ways(&mut self, caller: FuncId, callee: FuncId) -> Vec<String> {
        if self.of(caller).inlined.is_empty() {
            return Vec::new();
        }
        let offsets = self.offsets(caller, callee);
        let mut ways: Vec<String> = offsets.into_iter().map(|offset| self.way(caller, offset)).collect();
        ways.sort_unstable();
        ways.dedup();
        ways
    }

    /// The functions that an instruction was written in, the innermost first, and the lines there. The last is the function
    /// itself.
    pub fn frames(&mut self, func: FuncId, offset: u32) -> Vec<Frame> {
        let symbols = self.symbols;
        let declared_at = symbols.get(func).and_then(|symbol| symbol.source);
        let code = self.of(func);
        let mut place = code.source(offset);
        let mut frames = Vec::new();
        let line = |place: Option<Source>, declared: Option<Source>| match (place, declared) {
            (Some(place), Some(declared)) if place.file == declared.file => place.line,
            _ => 0,
        };
        for call in code.inlined.at(offset) {
            let Some(function) = symbols.inlined(func, call.function) else { continue };
            frames.push(Frame { inlined: Some(call.function), line: line(place, function.source) });
            place = call.source;
        }
        frames.push(Frame { inlined: None, line: line(place, declared_at) });
        frames
    }

    /// The frames at the call of a function, in a profile. If there are several places, these are the frames that all of them share;
    /// the line of the innermost is 0 if the places differ in it.
    pub fn frames_of_call(&mut self, profile: &Profile, caller: FuncId, callee: FuncId) -> Vec<Frame> {
        // With a filter, the caller may have called something in between.
        if profile.hidden_calls > 0 {
            return vec![Frame::ANYWHERE];
        }
        self.common_frames(caller, callee)
    }

    pub(super) fn common_frames(&mut self, caller: FuncId, callee: FuncId) -> Vec<Frame> {
        let mut common: Option<Vec<Frame>> = None;
        for offset in self.offsets(caller, callee) {
            let frames = self.frames(caller, offset);
            common = Some(match common {
                None => frames,
                Some(before) => in_common(&before, &frames),
            });
        }
        common.unwrap_or_else(|| vec![Frame::ANYWHERE])
    }

    /// The sampled time of a path's innermost function in ticks, by the frames at the sampled places. Places without known frames are
    /// left out.
    pub fn sampled(&mut self, places: &TreePlaces, id: NodeId, func: FuncId) -> BTreeMap<Vec<Frame>, u64> {
        let mut sums = BTreeMap::new();
        for (&(_, offset), place) in places.range((id, 0)..=(id, u32::MAX)) {
            let frames = self.frames(func, offset);
            if frames != [Frame::ANYWHERE] {
                let sum: &mut u64 = sums.entry(frames).or_default();
                *sum = sum.saturating_add(place.ticks);
            }
        }
        sums
    }
}

/// The outer part of two places' frames that is the same.
fn in_common(a: &[Frame], b: &[Frame]) -> Vec<Frame> {
    let mut common = Vec::new();
    for (a, b) in a.iter().rev().zip(b.iter().rev()) {
        if a.inlined != b.inlined {
            break;
        }
        common.push(if a == b { *a } else { Frame { line: 0, ..*a } });
        if a != b {
            break;
        }
    }
    common.reverse();
    common
}

/// How many places of a call are named.
const MAX_TOLD: usize = 8;
/// How long a way gets, in bytes, and one more name.
const MAX_WAY: usize = 1 << 10;
