//! The contract between a probed module and its hosts, each name and constant once.
//!
//! - [`names`]: the imports of the probes.
//! - [`word`], [`block`]: the words that a recorder writes, and the layout of its memory.
//! - [`symbols`], [`code`]: the symbol table that the rewriter puts into a module.
//! - [`recorder`]: the recorder modules; [`shadow`]: the memory of those that make profiles; [`tree`]: of those in the program's memory.
//! - [`allocation`]: records of memory.
//!
//! The crate does no IO and knows no runtime.

pub mod allocation;
pub mod block;
pub mod code;
mod function;
pub mod leb128;
pub mod names;
mod printable;
pub mod recorder;
pub mod shadow;
pub mod symbols;
pub mod tree;
pub mod word;

pub use code::{
    CallSite, Codes, FunctionCode, Inlined, InlinedCall, InlinedFunction, MAX_INLINED, Move, Region, Row,
    Target,
};
pub use function::{FuncId, FuncIndex, Source};
pub use printable::printable;
pub use symbols::{CodeIdentity, Symbol, SymbolTable};
