//! The fields that all spans of a function share, encoded once.

use crate::attribute::{int, string, truth};
use crate::options::SpanOptions;
use crate::proto::common::v1::KeyValue;
use crate::proto::trace::v1::Span;
use crate::proto::trace::v1::span::SpanKind;
use crate::wire;
use kperf_abi::FuncId;
use kperf_profile::{LOST, OTHER, Symbols};
use prost::Message;
use rustc_hash::FxHashMap;

/// A function, as the fields of a span.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its id, for metrics.
    pub(crate) func: FuncId,
    /// The span's name and kind.
    pub(crate) head: Box<[u8]>,
    /// The attributes.
    pub(crate) attributes: Box<[u8]>,
    /// Whether its calls get spans.
    pub(crate) kept: bool,
}

/// The functions that were called so far.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    list: Vec<Function>,
    by_id: FxHashMap<FuncId, u32>,
    /// How many bytes the fields of all have.
    bytes: usize,
}

/// How many functions are distinguished, and how many bytes their fields may have. Calls of further functions count for `[other]`.
const MAX_FUNCTIONS: usize = 1 << 17;
const MAX_BYTES: usize = 128 << 20;

/// The maximal length of a name: one may be larger than a request.
pub(crate) const MAX_NAME: usize = 4096;

impl Functions {
    /// The index of a function.
    #[inline]
    pub(crate) fn index(&mut self, func: FuncId, symbols: &Symbols, options: &SpanOptions) -> u32 {
        match self.by_id.get(&func) {
            Some(&index) => index,
            None => self.add(func, symbols, options),
        }
    }

    /// All of them, by index.
    pub(crate) fn list(&self) -> &[Function] {
        &self.list
    }

    #[cold]
    fn add(&mut self, func: FuncId, symbols: &Symbols, options: &SpanOptions) -> u32 {
        if func != OTHER && (self.list.len() >= MAX_FUNCTIONS || self.bytes >= MAX_BYTES) {
            return self.index(OTHER, symbols, options);
        }
        let name = symbols.name(func);
        let short = shortened(&name);
        let mut head = Vec::new();
        wire::field(&mut head, 5, short.as_bytes());
        head.extend([6 << 3, SpanKind::Internal as u8]);
        let attributes = attributes_of(func, short, symbols);
        let kept = options.keep.as_ref().is_none_or(|keep| keep(&name));
        let index = self.list.len() as u32;
        let attributes = encoded(&attributes);
        self.bytes += head.len() + attributes.len();
        self.list.push(Function { func, head: head.into(), attributes, kept });
        self.by_id.insert(func, index);
        index
    }
}

/// The attributes of a function.
pub(crate) fn attributes_of(func: FuncId, name: &str, symbols: &Symbols) -> Vec<KeyValue> {
    let mut attributes = Vec::new();
    let Some(symbol) = symbols.get(func) else {
        if func != LOST && func != OTHER {
            attributes.push(int("kperf.func.id", func.0.into()));
        }
        return attributes;
    };
    attributes.push(string("code.function.name", name));
    if let Some((file, line)) = symbols.source(func) {
        attributes.push(string("code.file.path", shortened(file)));
        if line != 0 {
            attributes.push(int("code.line.number", line.into()));
        }
    }
    attributes.push(int("kperf.func.id", func.0.into()));
    attributes.push(int("kperf.func.index", symbol.func_index.0.into()));
    if symbol.counted {
        // Its spans have no length: its time is in the span around it.
        attributes.push(truth("kperf.func.counted"));
    }
    // The resource names the first module.
    let module = symbols.tables().iter().skip(1).find(|table| table.get(func).is_some());
    if let Some(table) = module {
        attributes.push(string("kperf.module.name", shortened(&table.module.name)));
    }
    attributes
}

/// Attributes as fields of a span.
pub(crate) fn encoded(attributes: &[KeyValue]) -> Box<[u8]> {
    Span { attributes: attributes.to_vec(), ..Span::default() }.encode_to_vec().into()
}

/// A name, shortened to the maximal length.
pub(crate) fn shortened(name: &str) -> &str {
    shortened_to(name, MAX_NAME)
}

/// At most so many bytes of a name.
pub(crate) fn shortened_to(name: &str, most: usize) -> &str {
    name.get(..name.floor_char_boundary(most)).unwrap_or(name)
}
