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
    /// More functions than there are ids.
    TooManyIds,
    /// The module is within the engines' limits, and isn't with its probes.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there would be.
        count: usize,
        /// How many engines allow.
        limit: usize,
    },
    /// The rewritten module is invalid. This is a defect of the rewriter (only checked on demand and in debug builds).
    Invalid {
        /// What the validator said.
        message: String,
        /// Text of the function around the place, as far as it prints.
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
                write!(f, "this is a component, not a core module; rewrite the modules inside it")
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
            ErrorKind::TooManyIds => {
                write!(f, "more functions than ids: 2^30 are there, from the id base on")
            }
            ErrorKind::TooMany { what, count, limit } => {
                write!(f, "with probes the module would have {count} {what}; engines allow {limit}")
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
