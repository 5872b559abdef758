//! Differences between the builds of a module and of a file with names.

use std::fmt;

/// Why a file is of another build than a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Different numbers of functions.
    Functions {
        /// The module's number, and the file's.
        counts: (u32, u32),
    },
    /// Different numbers of imported functions.
    Imports {
        /// The module's number, and the file's.
        counts: (u32, u32),
    },
    /// Different code.
    Code,
    /// Different sizes of functions. The code of the module is unknown.
    Sizes,
    /// The file has no code and no `build_id`.
    NoCode,
    /// The file has functions or code that the module doesn't have.
    Beyond,
    /// Different build ids, and the file has no code.
    BuildId,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Functions { counts: (module, file) } => {
                write!(f, "it defines {file} functions, the module {module}")
            }
            Mismatch::Imports { counts: (module, file) } => {
                write!(f, "it imports {file} functions, the module {module}")
            }
            Mismatch::Code => f.write_str("its code is not the module's"),
            Mismatch::Sizes => f.write_str("its functions are of other sizes than the module's"),
            Mismatch::NoCode => f.write_str(
                "it has no code and no `build_id`, so nothing tells whether it is of the same build",
            ),
            Mismatch::Beyond => f.write_str("it speaks of functions that the module doesn't have"),
            Mismatch::BuildId => f.write_str("its `build_id` is not the module's"),
        }
    }
}
