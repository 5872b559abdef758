//! What a probed module and its hosts agree on.
//!
//! Everything here is spelled once: the names of the probe's imports ([`names`]), the words that a recorder writes
//! ([`word`]), where they lie in a recorder's memory ([`block`]), the symbol table that the rewriter leaves in a module
//! ([`symbols`], [`code`]), the recorder modules ([`recorder`]), the memory of a recorder that makes profiles ([`shadow`]), and records of memory ([`allocation`]). The
//! crate does no IO and knows no runtime.

pub mod allocation;
pub mod block;
pub mod code;
mod function;
pub mod leb128;
pub mod names;
pub mod recorder;
pub mod shadow;
pub mod symbols;
pub mod word;

pub use code::{
    CallSite, Codes, FunctionCode, Inlined, InlinedCall, InlinedFunction, MAX_INLINED, Move, Region, Row,
    Target,
};
pub use function::{FuncId, FuncIndex, Source};
pub use symbols::{CodeIdentity, Symbol, SymbolTable};
