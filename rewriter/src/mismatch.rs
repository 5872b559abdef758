//! How a file with names turns out to be of another build than the module.

use std::fmt;

/// Why a file is not of the same build as a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// They have other numbers of functions.
    Functions {
        /// How many the module defines, and how many the file.
        counts: (u32, u32),
    },
    /// They have other numbers of imported functions.
    Imports {
        /// How many the module imports, and how many the file.
        counts: (u32, u32),
    },
    /// Their code differs.
    Code,
    /// The sizes of their functions differ. The code of the module isn't known.
    Sizes,
    /// The file has no code, and nothing else tells that it is of the same build.
    NoCode,
    /// The file speaks of functions or of code that the module doesn't have.
    Beyond,
    /// The build ids differ, and the file has no code.
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
