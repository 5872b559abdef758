use crate::Mismatch;
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
    /// What is wanted goes with a module, not with a component.
    ForModulesAlone {
        /// What it is.
        what: String,
    },
    /// The input carries a `kperf.symbols` section: it has probes already.
    AlreadyProbed,
    /// The input imports or exports a name that probes need for themselves.
    ReservedName {
        /// The name.
        name: String,
    },
    /// The input uses something that probes can't be put around.
    Unsupported {
        /// The name of it.
        what: String,
        /// Where it was met.
        offset: u64,
    },
    /// Functions that should have a probe may be on a stack that is suspended.
    SwitchesStacks {
        /// Names of some of them.
        names: Vec<String>,
        /// How many others there are.
        others: usize,
        /// Where an instruction for it was met.
        offset: u64,
    },
    /// The filters leave no function.
    NothingMatched {
        /// How many functions there were to choose from.
        functions: usize,
    },
    /// A pattern of `--only` or `--skip` that no function's name matches.
    PatternMatchesNothing {
        /// The pattern.
        pattern: String,
        /// One that would match.
        hint: Option<String>,
    },
    /// `--only` or `--skip` has a pattern that is neither a glob nor a regular expression.
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
        most: usize,
    },
    /// The file with names is not of the module's build.
    OtherBuild {
        /// How that is known.
        mismatch: Mismatch,
    },
    /// A source map can't be read.
    BadSourceMap {
        /// What is wrong with it.
        message: String,
    },
    /// Instructions are wanted as the clock, with probes that have no such clock.
    ClockNeedsTrace,
    /// A function's instructions can't be counted, which would make the clock of all others wrong.
    NotCounted {
        /// Its index.
        index: u32,
        /// Why.
        why: &'static str,
    },
    /// What is allocated is to be recorded, with probes that record no events.
    AllocationsNeedTrace,
    /// Samples of what is allocated are wanted, with probes that record all of it.
    SamplesNeedInline,
    /// A function can't be what it was said to be: one of an allocator's.
    BadAllocator {
        /// What was said.
        name: String,
        /// Why it can't.
        why: String,
    },
    /// More functions than there are ids.
    TooManyIds,
    /// The module is within the engines' limits, and isn't with its probes.
    TooMany {
        /// What there is too much of: functions, globals, memories ..
        what: &'static str,
        /// How many there would be.
        count: usize,
        /// How many engines allow.
        limit: usize,
    },
    /// The module is loaded beside others at run time, and would have its recorder inside.
    SideModule {
        /// The section that says so.
        section: String,
    },
    /// The rewritten module is invalid. This is a defect of the rewriter (only checked on demand and in debug builds).
    Invalid {
        /// What the validator said.
        message: String,
        /// The instructions around the place, and the function that they are of.
        context: String,
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
            ErrorKind::ForModulesAlone { what } => {
                write!(f, "components can't have it: {what}")
            }
            ErrorKind::AlreadyProbed => {
                write!(f, "the module has probes already (it carries `kperf.symbols`); rewrite the original")
            }
            ErrorKind::ReservedName { name } => {
                write!(f, "the module uses the reserved name `{name}`, which probes need for themselves")
            }
            ErrorKind::Unsupported { what, offset } => {
                write!(f, "{what} is not supported (at offset {offset:#x})")
            }
            ErrorKind::SwitchesStacks { names, others, offset } => {
                write!(
                    f,
                    "probes can't follow a call whose stack is suspended (stack switching, at offset {offset:#x}); leave out \
                     what may be called there:"
                )?;
                names.iter().try_for_each(|name| write!(f, " --skip '{name}'"))?;
                match others {
                    0 => Ok(()),
                    others => write!(f, " and {others} more"),
                }
            }
            ErrorKind::NothingMatched { functions: 1 } => {
                write!(f, "the filters leave out the only function")
            }
            ErrorKind::NothingMatched { functions } => {
                write!(f, "the filters leave none of {functions} functions")
            }
            ErrorKind::PatternMatchesNothing { pattern, hint } => {
                write!(f, "no function's name matches `{pattern}`")?;
                match hint {
                    Some(hint) => write!(f, "; is it `{hint}` that you want?"),
                    None => Ok(()),
                }
            }
            ErrorKind::BadPattern { pattern, message } => write!(f, "bad pattern `{pattern}`: {message}"),
            ErrorKind::BadNameMap { line } => {
                write!(f, "line {line} of the symbol map is not of the form `index:name`")
            }
            ErrorKind::LargeNameMap { most } => write!(f, "the symbol map has more than {most} names"),
            ErrorKind::OtherBuild { mismatch } => {
                write!(f, "the file with its names is not of this build: {mismatch}")
            }
            ErrorKind::BadSourceMap { message } => {
                write!(f, "it is no source map that can be read: {message}")
            }
            ErrorKind::ClockNeedsTrace => {
                write!(f, "only a trace counts instructions; a profile has samples (`--record trace`)")
            }
            ErrorKind::NotCounted { index, why } => {
                write!(f, "the instructions of function {index} can't be counted: {why}")
            }
            ErrorKind::AllocationsNeedTrace => {
                write!(f, "allocations are recorded in a trace of the calls, and a profile has none")
            }
            ErrorKind::SamplesNeedInline => {
                write!(f, "only inlined probes can record samples of allocations (`--probe inline`)")
            }
            ErrorKind::BadAllocator { name, why } => write!(f, "the allocator `{name}`: {why}"),
            ErrorKind::TooManyIds => {
                write!(f, "the module has too many functions: ids begin at --id-base and end at 2^30")
            }
            ErrorKind::TooMany { what, count, limit } => {
                write!(f, "with probes the module would have {count} {what}; engines allow {limit}")
            }
            ErrorKind::SideModule { section } => {
                write!(
                    f,
                    "a module that is loaded beside others (it has a section `{section}`) can't have its recorder inside: \
                     loaders fail at the recorder's exports; imported probes go into it (`--probe import`, a trace)"
                )
            }
            ErrorKind::Invalid { message, context } => {
                write!(
                    f,
                    "the rewritten module is invalid, which is a defect of the rewriter: {message}\n{context}"
                )
            }
        }
    }
}

impl std::error::Error for Error {}
