//! Why a module can't be rewritten.

use crate::mismatch::Mismatch;
use std::fmt;

/// Why a module can't be rewritten.
#[derive(Debug)]
pub struct Error {
    kind: Box<ErrorKind>,
}

/// The cases of [`Error`]. Offsets are bytes from the start of the input.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is no well-formed module.
    Malformed {
        /// What the parser said.
        message: String,
        /// Where.
        offset: u64,
    },
    /// The input is a component, or something else that is no core module.
    NotAModule,
    /// The input is a core module, not a component.
    NotAComponent,
    /// A core module of a component can't be rewritten.
    InModule {
        /// The component's name and the module's.
        name: String,
        /// Why.
        error: Box<Error>,
    },
    /// The options ask for something that components can't have.
    NotForComponents {
        /// What it is.
        feature: ModuleFeature,
    },
    /// The input already has probes: it has a section `kperf.symbols`.
    AlreadyProbed,
    /// The input imports or exports a name that is reserved for probes.
    ReservedName {
        /// The name.
        name: String,
    },
    /// The input uses something that the rewriter doesn't support.
    Unsupported {
        /// Its name.
        what: String,
        /// Where it is.
        offset: u64,
    },
    /// Functions that would get a probe may be open on a stack that is suspended.
    SwitchesStacks {
        /// Names of some of them.
        names: Vec<String>,
        /// How many more there are.
        others: usize,
        /// Where a function switches stacks.
        offset: u64,
    },
    /// No function passes the filters.
    NothingMatched {
        /// How many functions there were to choose from.
        functions: usize,
    },
    /// A pattern of the filter matches no function's name.
    PatternMatchesNothing {
        /// The pattern.
        pattern: String,
        /// A pattern that would match.
        hint: Option<String>,
    },
    /// A pattern is neither a glob nor a regular expression.
    BadPattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// A line of a symbol map is not `index:name`.
    BadNameMap {
        /// Its number, from 1.
        line: usize,
    },
    /// A symbol map has more names than modules have functions.
    LargeNameMap {
        /// How many names it may have.
        max: usize,
    },
    /// The file with names is of another build than the module.
    OtherBuild {
        /// How they differ.
        mismatch: Mismatch,
    },
    /// A source map can't be read.
    BadSourceMap {
        /// What is wrong with it.
        message: String,
    },
    /// A function's instructions can't be counted, which would make the clock of all others wrong.
    NotCounted {
        /// Its index.
        index: u32,
        /// Why.
        why: &'static str,
    },
    /// A function that the options name can't be an allocator's.
    BadAllocator {
        /// Its name.
        name: String,
        /// Why not.
        why: String,
    },
    /// The recorder can't be in the module's own memory.
    NoRoomInMemory {
        /// What the memory is.
        why: &'static str,
    },
    /// The path for a trace is too long, or no path.
    BadTracePath {
        /// The path.
        path: String,
    },
    /// More functions than there are ids.
    TooManyIds,
    /// With its probes the module would exceed a limit of engines that the original meets.
    TooMany {
        /// What is limited: functions, globals, memories ..
        what: &'static str,
        /// How many the module would have.
        count: usize,
        /// How many engines allow.
        limit: usize,
    },
    /// The module is linked to others at run time, so it can't contain its recorder.
    SideModule {
        /// The custom section of dynamic linking.
        section: String,
    },
    /// The rewritten module is invalid. This is a bug in the rewriter; it is looked for on demand and in debug builds.
    Invalid {
        /// What the validator said.
        message: String,
    },
}

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    pub(crate) fn malformed(offset: u64, message: impl Into<String>) -> Error {
        ErrorKind::Malformed { message: message.into(), offset }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error { kind: Box::new(kind) }
    }
}

impl From<wasmparser::Error> for Error {
    fn from(error: wasmparser::Error) -> Error {
        Error::malformed(error.offset(), error.message())
    }
}

impl From<wasm_encoder::reencode::Error> for Error {
    fn from(error: wasm_encoder::reencode::Error) -> Error {
        match error {
            wasm_encoder::reencode::Error::ParseError(error) => error.into(),
            other => Error::malformed(0, other.to_string()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            ErrorKind::Malformed { message, offset } => {
                write!(f, "not a well-formed module: {message} (at offset {offset:#x})")
            }
            ErrorKind::NotAModule => {
                write!(f, "this is a component, not a core module")
            }
            ErrorKind::NotAComponent => write!(f, "this is a core module, not a component"),
            ErrorKind::InModule { name, error } => write!(f, "the core module `{name}`: {error}"),
            ErrorKind::NotForComponents { feature } => write!(f, "{feature} is not supported for components"),
            ErrorKind::NoRoomInMemory { why } => {
                write!(
                    f,
                    "a module that records itself must have one memory of its own, and this memory {why}"
                )
            }
            ErrorKind::BadTracePath { path } => {
                write!(f, "`{}` is no path of at most 255 bytes", path.escape_debug())
            }
            ErrorKind::AlreadyProbed => {
                write!(f, "the module already has probes (a section `kperf.symbols`); rewrite the original")
            }
            ErrorKind::ReservedName { name } => {
                write!(f, "the module uses the name `{name}`, which is reserved for probes")
            }
            ErrorKind::Unsupported { what, offset } => {
                write!(f, "{what} is not supported (at offset {offset:#x})")
            }
            ErrorKind::SwitchesStacks { names, others, offset } => {
                write!(
                    f,
                    "functions that may be open while their stack is suspended can't have probes (stack switching, at \
                     offset {offset:#x}): "
                )?;
                for (n, name) in names.iter().enumerate() {
                    write!(f, "{}`{name}`", if n == 0 { "" } else { ", " })?;
                }
                match others {
                    0 => Ok(()),
                    others => write!(f, " and {others} more"),
                }
            }
            ErrorKind::NothingMatched { functions: 1 } => {
                write!(f, "the only function doesn't pass the filters")
            }
            ErrorKind::NothingMatched { functions } => {
                write!(f, "none of {functions} functions pass the filters")
            }
            ErrorKind::PatternMatchesNothing { pattern, hint } => {
                write!(f, "no function's name matches `{pattern}`")?;
                match hint {
                    Some(hint) => write!(f, "; did you mean `{hint}`?"),
                    None => Ok(()),
                }
            }
            ErrorKind::BadPattern { pattern, message } => write!(f, "bad pattern `{pattern}`: {message}"),
            ErrorKind::BadNameMap { line } => {
                write!(f, "line {line} of the symbol map is not of the form `index:name`")
            }
            ErrorKind::LargeNameMap { max } => write!(f, "the symbol map has more than {max} names"),
            ErrorKind::OtherBuild { mismatch } => {
                write!(f, "the file with the names is of another build: {mismatch}")
            }
            ErrorKind::BadSourceMap { message } => {
                write!(f, "failed to read the source map: {message}")
            }
            ErrorKind::NotCounted { index, why } => {
                write!(f, "the instructions of function {index} can't be counted: {why}")
            }
            ErrorKind::BadAllocator { name, why } => write!(f, "the allocator `{name}`: {why}"),
            ErrorKind::TooManyIds => {
                write!(f, "the module has too many functions: ids must be less than 2^30")
            }
            ErrorKind::TooMany { what, count, limit } => {
                write!(f, "with probes the module would have {count} {what}; engines allow {limit}")
            }
            ErrorKind::SideModule { section } => {
                write!(
                    f,
                    "a module that is linked at run time (it has a section `{section}`) can't contain its recorder: its loader \
                     rejects the recorder's exports; use imported probes"
                )
            }
            ErrorKind::Invalid { message } => {
                write!(f, "the rewritten module is invalid, which is a bug in the rewriter: {message}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// What modules can have and components can't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleFeature {
    /// A file with names.
    NameFile,
    /// Recording allocations.
    Allocations,
    /// A recorder that is a part of the modules: a component has it beside them.
    InlineRecorder,
    /// A profile that samples the stack of the thread.
    NativeStack,
}

impl fmt::Display for ModuleFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ModuleFeature::NameFile => "a file with the names of one module",
            ModuleFeature::Allocations => "recording allocations",
            ModuleFeature::InlineRecorder => "a recorder inside the modules",
            ModuleFeature::NativeStack => "sampling the stack of the thread",
        })
    }
}
