//! The forms of probes. Each is a file: what it adds to a module, and what it puts into functions. A new one is a file, a
//! name in [`Probe`] and a line of the table below; nothing else asks which form it is.

mod calls;
mod count;
mod import;
mod inline;
mod instructions;
mod profile;
mod shape;

pub(crate) use shape::{Form, Kind, Needs};

use crate::{Clock, Error, ErrorKind, Options};
use kperf_abi::recorder;

/// Where probes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Probe {
    /// The module imports `kperf.enter` and `kperf.leave`, and calls them. Any engine and any host can do with that.
    #[default]
    Import,
    /// The recorder is a part of the module, and each function contains the code for the usual case of an event. This is the
    /// fastest form. The engine must support shared memories, and several memories if the module has its own. The host supplies
    /// `kperf:host.now` and `flush`.
    Inline,
    /// The recorder is a part of the module, and records no events: it counts the calls of each function and keeps a stack
    /// of the open ones, which the host looks at now and then. The engine must support shared memories, and several memories if
    /// the module has its own. The host supplies `kperf:host.flush`.
    Profile {
        /// Whether that stack tells one call of a function from the next, so that slow calls can be told one by one.
        spans: bool,
    },
    /// The recorder is a part of the module, and only counts the calls of each function. The host finds the open calls on the
    /// stack of the guest's thread, if it can. The engine must support shared memories, and several memories if the module has
    /// its own. The host supplies `kperf:host.flush`.
    Count,
}

macro_rules! forms {
    ($($probe:pat, $clock:pat => $form:expr,)*) => {
        impl Options {
            pub(crate) fn form(&self) -> Result<&'static dyn Form, Error> {
                let form: &'static dyn Form = match (self.probe, &self.clock) {
                    $(($probe, $clock) => &$form,)*
                    (_, Clock::Instructions) => return Err(ErrorKind::ClockNeedsTrace.into()),
                };
                match &self.allocations {
                    Some(_) if !form.wants().allocations => Err(ErrorKind::AllocationsNeedTrace.into()),
                    Some(options) if options.sample > 0 && !form.wants().samples => {
                        Err(ErrorKind::SamplesNeedInline.into())
                    }
                    _ => Ok(form),
                }
            }
        }

        /// All there are.
        pub(crate) const FORMS: &[&dyn Form] = &[$(&$form),*];
    };
}

forms! {
    Probe::Import, Clock::Host => import::Import { counts: false },
    Probe::Import, Clock::Instructions => import::Import { counts: true },
    Probe::Inline, Clock::Host => inline::Inline,
    Probe::Inline, Clock::Instructions => instructions::Instructions,
    Probe::Profile { spans: false }, Clock::Host => profile::Profile(recorder::Form::Profile),
    Probe::Profile { spans: true }, Clock::Host => profile::Profile(recorder::Form::ProfileSpans),
    Probe::Count, Clock::Host => count::Count,
}
