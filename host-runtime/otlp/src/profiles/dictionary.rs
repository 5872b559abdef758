//! A request's dictionary: the functions, locations and stacks of its samples, each once.

use crate::attribute::string;
use crate::proto::profiles::v1development::{
    Function, KeyValueAndUnit, Line, Link, Location, Mapping, ProfilesDictionary, Stack, ValueType,
};
use crate::spans::functions::{MAX_NAME, shortened, shortened_to};
use kperf_abi::FuncId;
use kperf_profile::{Frame, SpanLink, Symbols, printable};
use rustc_hash::FxHashMap;

/// A function of a path, with the instruction's frames: the functions that it was written in, innermost first.
pub(super) struct Spot {
    pub(super) func: FuncId,
    pub(super) frames: Vec<Frame>,
}

/// The tables of a request. The first entry of each stands for "none".
pub(super) struct Dictionary<'a> {
    symbols: &'a Symbols,
    tables: ProfilesDictionary,
    strings: FxHashMap<String, i32>,
    /// The locations of functions, by the frames there.
    locations: FxHashMap<FuncId, FxHashMap<Vec<Frame>, i32>>,
    /// Functions, and inlined functions by their module's number and their number there.
    functions: FxHashMap<(FuncId, Option<u32>), i32>,
    /// The mapping of a module, by the number of its symbol table.
    mappings: FxHashMap<usize, i32>,
    /// The attribute of a module's hash. A module may come with several symbol tables.
    hashes: FxHashMap<&'a str, i32>,
    links: FxHashMap<SpanLink, i32>,
    /// The paths: one may come once for each span.
    stacks: FxHashMap<Vec<i32>, i32>,
    /// How many bytes names have, about.
    bytes: usize,
    /// Names are cut here.
    max_name: usize,
}

/// Maximal bytes of a function without its strings.
const FUNCTION: usize = 96;
/// Maximal bytes of a string's tag and length.
const STRING: usize = 8;

impl<'a> Dictionary<'a> {
    /// An empty one.
    pub(super) fn new(symbols: &'a Symbols) -> Dictionary<'a> {
        let mut dictionary = Dictionary {
            symbols,
            tables: ProfilesDictionary::default(),
            strings: FxHashMap::default(),
            locations: FxHashMap::default(),
            functions: FxHashMap::default(),
            mappings: FxHashMap::default(),
            hashes: FxHashMap::default(),
            links: FxHashMap::default(),
            stacks: FxHashMap::default(),
            bytes: 0,
            max_name: MAX_NAME,
        };
        dictionary.take();
        dictionary
    }

    /// The tables so far. Another request begins with empty ones.
    pub(super) fn take(&mut self) -> ProfilesDictionary {
        self.strings.clear();
        self.locations.clear();
        self.functions.clear();
        self.mappings.clear();
        self.hashes.clear();
        self.links.clear();
        self.stacks.clear();
        self.bytes = 0;
        self.max_name = MAX_NAME;
        let none = ProfilesDictionary {
            mapping_table: vec![Mapping::default()],
            location_table: vec![Location::default()],
            function_table: vec![Function::default()],
            link_table: vec![Link { trace_id: vec![0; 16], span_id: vec![0; 8] }],
            string_table: vec![String::new()],
            attribute_table: vec![KeyValueAndUnit::default()],
            stack_table: vec![Stack::default()],
        };
        std::mem::replace(&mut self.tables, none)
    }

    /// How many bytes its names have, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// An upper bound of the bytes that this path would add.
    pub(super) fn bytes_of(&self, path: &[Spot]) -> usize {
        let new = path.iter().filter(|spot| self.known(spot).is_none());
        new.map(|spot| self.spot_bytes(spot)).fold(0, usize::saturating_add)
    }

    fn known(&self, spot: &Spot) -> Option<i32> {
        self.locations.get(&spot.func)?.get(&spot.frames).copied()
    }

    /// Cuts names so that those of a path have at most so many bytes, if possible.
    pub(super) fn fit(&mut self, path: &[Spot], bytes: usize) {
        /// Four strings are a function's: two names, a file, a module.
        const STRINGS: usize = 4;
        let strings = STRINGS * path.iter().map(|spot| spot.frames.len()).sum::<usize>();
        while self.max_name > STRING && self.bytes_of(path) > bytes {
            self.max_name = self.max_name.min(bytes / strings.max(1)).max(2 * STRING) / 2;
        }
    }

    /// The bytes of a new location, with all of its strings.
    fn spot_bytes(&self, Spot { func, frames }: &Spot) -> usize {
        let (symbols, func) = (self.symbols, *func);
        let length = |text: &str| text.len().min(self.max_name) + STRING;
        let inlined = frames.iter().filter_map(|frame| symbols.inlined(func, frame.inlined?));
        let inlined = inlined.map(|function| {
            let file = function.source.and_then(|source| symbols.file(func, source.file));
            FUNCTION + length(&printable(&function.name)) + file.map_or(0, length)
        });
        let inlined = inlined.fold(0, usize::saturating_add);
        let name = length(&symbols.label(func));
        let system_name = symbols.get(func).map_or(0, |symbol| length(&symbol.name));
        let file = symbols.source(func).map_or(0, |(file, _)| length(file));
        let number = symbols.tables().iter().position(|table| table.get(func).is_some());
        let new = number.filter(|number| !self.mappings.contains_key(number));
        let module = new
            .and_then(|number| symbols.tables().get(number))
            .map_or(0, |table| length(&table.module.name) + table.module.sha256.len() + FUNCTION);
        FUNCTION + name + system_name + file + module + inlined
    }

    /// The index of a path of calls, outermost first.
    pub(super) fn stack(&mut self, path: &[Spot]) -> i32 {
        let location_indices: Vec<i32> = path.iter().rev().map(|spot| self.location(spot)).collect();
        if let Some(&index) = self.stacks.get(&location_indices) {
            return index;
        }
        let index = put(&mut self.tables.stack_table, Stack { location_indices: location_indices.clone() });
        self.stacks.insert(location_indices, index);
        index
    }

    /// The index of the link to the sample's span; 0 if there is none.
    pub(super) fn link(&mut self, span: Option<SpanLink>) -> i32 {
        let Some(span) = span else { return 0 };
        let table = &mut self.tables.link_table;
        *self.links.entry(span).or_insert_with(|| {
            put(table, Link { trace_id: span.trace_id.to_vec(), span_id: span.span_id.to_vec() })
        })
    }

    pub(super) fn value_type(&mut self, name: &str, unit: &str) -> ValueType {
        ValueType { type_strindex: self.string(name), unit_strindex: self.string(unit) }
    }

    fn location(&mut self, spot: &Spot) -> i32 {
        if let Some(index) = self.known(spot) {
            return index;
        }
        let func = spot.func;
        let number = self.symbols.tables().iter().position(|table| table.get(func).is_some());
        let line = |frame: &Frame| {
            let function_index = self.function(func, frame.inlined);
            // The column is unknown, and for most functions the line too.
            Line { function_index, line: frame.line.into(), column: 0 }
        };
        let lines = spot.frames.iter().map(line).collect();
        let location = Location {
            mapping_index: number.map_or(0, |number| self.mapping(number)),
            address: func.0.into(),
            lines,
            attribute_indices: Vec::new(),
        };
        self.bytes += FUNCTION;
        let index = put(&mut self.tables.location_table, location);
        self.locations.entry(func).or_default().insert(spot.frames.clone(), index);
        index
    }

    /// The index of a function, or of one that is inlined in it.
    fn function(&mut self, func: FuncId, inlined: Option<u32>) -> i32 {
        let symbols = self.symbols;
        let inlined_function = inlined.and_then(|number| symbols.inlined(func, number));
        let table = symbols.tables().iter().find(|table| table.get(func).is_some());
        // An inlined function is the same wherever it is.
        let key = match (inlined_function, table) {
            (Some(_), Some(table)) => (FuncId(table.id_base), inlined),
            _ => (func, None),
        };
        if let Some(&index) = self.functions.get(&key) {
            return index;
        }
        let (name, source) = match inlined_function {
            Some(function) => {
                let place = |source: kperf_abi::Source| Some((symbols.file(func, source.file)?, source.line));
                (printable(&function.name).into_owned(), function.source.and_then(place))
            }
            None => (symbols.label(func), symbols.source(func)),
        };
        let symbol = symbols.get(func).filter(|_| inlined_function.is_none());
        let function = Function {
            name_strindex: self.name(&name),
            system_name_strindex: self.name(symbol.map_or(&name, |symbol| &symbol.name)),
            filename_strindex: source.map_or(0, |(file, _)| self.name(file)),
            start_line: source.map_or(0, |(_, line)| line.into()),
        };
        self.bytes += FUNCTION;
        let index = put(&mut self.tables.function_table, function);
        self.functions.insert(key, index);
        index
    }

    /// The index of a module: its functions' ids are its addresses, and its hash is its build id.
    fn mapping(&mut self, number: usize) -> i32 {
        if let Some(&index) = self.mappings.get(&number) {
            return index;
        }
        let symbols = self.symbols;
        let Some(table) = symbols.tables().get(number) else { return 0 };
        let hash = table.module.sha256.as_str();
        let attribute_indices = if hash.is_empty() { Vec::new() } else { vec![self.hash(hash)] };
        let mapping = Mapping {
            memory_start: table.id_base.into(),
            memory_limit: table.id_end().into(),
            file_offset: 0,
            filename_strindex: self.name(&table.module.name),
            attribute_indices,
        };
        let index = put(&mut self.tables.mapping_table, mapping);
        self.mappings.insert(number, index);
        index
    }

    /// The index of an attribute with a module's hash.
    fn hash(&mut self, hash: &'a str) -> i32 {
        if let Some(&index) = self.hashes.get(hash) {
            return index;
        }
        let attribute = KeyValueAndUnit {
            key_strindex: self.string("kperf.module.sha256"),
            value: string("", hash).value,
            unit_strindex: 0,
        };
        self.bytes += hash.len();
        let index = put(&mut self.tables.attribute_table, attribute);
        self.hashes.insert(hash, index);
        index
    }

    /// The index of a name, which is cut if its path has too many bytes.
    fn name(&mut self, text: &str) -> i32 {
        self.string(shortened_to(text, self.max_name))
    }

    fn string(&mut self, text: &str) -> i32 {
        let text = shortened(text);
        if text.is_empty() {
            return 0;
        }
        if let Some(&index) = self.strings.get(text) {
            return index;
        }
        self.bytes += text.len() + STRING;
        let index = put(&mut self.tables.string_table, text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }
}

/// Appends an entry, and answers its index.
fn put<T>(table: &mut Vec<T>, entry: T) -> i32 {
    table.push(entry);
    // A request is far too small for more.
    i32::try_from(table.len() - 1).unwrap_or(0)
}
