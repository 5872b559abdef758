//! The inlined functions that calls are made through, for formats that show these as calls.

use crate::code::inlined::CallPlaces;
use crate::limits::MAX_CACHED;
use crate::symbols::{Symbols, printable};
use kperf_abi::{FuncId, FunctionCode};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A function or an inlined function, shown as a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shown {
    /// A call of a function.
    Function(FuncId),
    /// One that was inlined: the first id of its module, and its number there.
    Inlined(FuncId, u32),
}

impl Shown {
    /// Its name for people.
    pub fn label(self, symbols: &Symbols) -> String {
        match self {
            Shown::Function(func) => symbols.label(func),
            Shown::Inlined(module, number) => symbols
                .inlined(module, number)
                .map_or_else(String::new, |function| printable(&function.name).into_owned()),
        }
    }

    /// Where it is declared.
    pub fn source(self, symbols: &Symbols) -> Option<(&str, u32)> {
        match self {
            Shown::Function(func) => symbols.source(func),
            Shown::Inlined(module, number) => {
                let source = symbols.inlined(module, number)?.source?;
                Some((symbols.file(module, source.file)?, source.line))
            }
        }
    }
}

/// The inlined functions that each call is made through, found out once for each caller and callee.
pub struct Ways<'k> {
    keep: &'k dyn Fn(&Symbols, FuncId) -> bool,
    /// How many tables there were when it was found out whether a filter leaves out functions.
    tables: usize,
    /// Whether it does. Then the caller of a call may be hidden.
    hides: bool,
    codes: FxHashMap<FuncId, FunctionCode>,
    known: FxHashMap<(FuncId, FuncId), Rc<[Shown]>>,
    none: Rc<[Shown]>,
}

impl<'k> Ways<'k> {
    /// `keep`: the functions that a filter lets through.
    pub fn new(keep: &'k dyn Fn(&Symbols, FuncId) -> bool) -> Ways<'k> {
        let (codes, known) = (FxHashMap::default(), FxHashMap::default());
        Ways { keep, tables: 0, hides: false, codes, known, none: Rc::new([]) }
    }

    /// The inlined functions that a call is made through, the outermost first. Of several places, those that all have in common.
    pub fn of(&mut self, symbols: &Symbols, caller: Option<FuncId>, callee: FuncId) -> Rc<[Shown]> {
        if self.tables != symbols.tables().len() {
            self.tables = symbols.tables().len();
            self.hides = !symbols.iter().all(|symbol| (self.keep)(symbols, symbol.id));
        }
        let Some(caller) = caller.filter(|_| !self.hides) else { return self.none.clone() };
        if let Some(way) = self.known.get(&(caller, callee)) {
            return way.clone();
        }
        let module = symbols.tables().iter().find(|table| table.get(caller).is_some());
        let Some(module) = module.filter(|module| !module.inlined.is_empty()) else {
            return self.none.clone();
        };
        let module = FuncId(module.id_base);
        let known = std::mem::take(&mut self.codes);
        let mut places = CallPlaces { symbols, known, calls: FxHashMap::default() };
        let frames = places.common_frames(caller, callee);
        self.codes = places.known;
        let inlined = frames.iter().rev().filter_map(|frame| frame.inlined);
        let way: Vec<Shown> = inlined.map(|number| Shown::Inlined(module, number)).collect();
        let way = if way.is_empty() { self.none.clone() } else { way.into() };
        if self.known.len() < MAX_CACHED {
            self.known.insert((caller, callee), way.clone());
        }
        way
    }
}
