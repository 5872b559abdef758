//! What is wrong with debug information.

use std::fmt;

/// Why places aren't known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Problem {
    Dwarf(gimli::Error),
    /// A unit wants more read than it has bytes for.
    TooMuch,
    /// There are more rows in line tables than are kept.
    ManyLines,
    /// More calls are inlined than are kept.
    ManyInlined,
    /// The names of inlined functions would take more room than what names them by far.
    LongNames,
    /// The paths would take more room than what names them by far.
    LongPaths,
    /// The parts of it are in other files.
    Split,
    /// Something names what isn't there, or is of a form that isn't known.
    Reference,
    /// A number is larger than its place, now that the code has moved.
    NoRoom,
}

impl From<gimli::Error> for Problem {
    fn from(error: gimli::Error) -> Problem {
        Problem::Dwarf(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Dwarf(error) => error.fmt(f),
            Problem::TooMuch => {
                f.write_str("a unit has many more attributes than bytes; the rest of it is left out")
            }
            Problem::ManyLines => f.write_str("it has too many lines to keep them; lines are left out"),
            Problem::ManyInlined => {
                f.write_str("more calls are inlined than can be; what is inlined is left out")
            }
            Problem::LongNames => {
                f.write_str("the names of inlined functions are too long; what is inlined is left out")
            }
            Problem::Split => f.write_str("parts of it are in other files (split DWARF)"),
            Problem::Reference => f.write_str("it names something that isn't there, or has an unknown form"),
            Problem::NoRoom => f.write_str("a number is too large for its place"),
            Problem::LongPaths => {
                f.write_str("the paths of files are too long; the rest of them is left out")
            }
        }
    }
}
