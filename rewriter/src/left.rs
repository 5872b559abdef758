//! Why a core module of a component gets no probes.

use std::fmt;

/// Why a core module of a component gets no probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It is exported, or given to another component, where its type is written down: with probes it would have another.
    Passed,
    /// A component that it is in, or that instantiates it, is passed on in this way.
    InPassed,
    /// It has no functions, or they only call others through a table, for imports that are not there when it is instantiated.
    Trampolines,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Left::Passed => "it is exported or passed on as a module, and its imports may not change",
            Left::InPassed => {
                "a component that contains it is exported or passed on, and its imports may not change"
            }
            Left::Trampolines => "it has no functions but trampolines",
        })
    }
}
