//! The forms of probes.
//!
//! - Each is a file: what it adds to a module, and what it puts into functions.
//! - A new one is a file, a variant of [`Recording`] and a line of the table below.
//! - Nothing else depends on which form it is.

mod calls;
mod count;
mod import;
mod inline;
mod profile;
mod shape;
mod tree;

pub(crate) use shape::{Form, Kind, Needs};

use crate::recording::{Clock, Imported, Inline, Recording};
use kperf_abi::recorder;

macro_rules! forms {
    ($($recording:pat => $form:expr,)*) => {
        impl Recording {
            /// The form of its probes.
            pub(crate) fn form(&self) -> &'static dyn Form {
                match self {
                    $($recording => &$form,)*
                }
            }
        }

        /// All forms.
        pub(crate) const FORMS: &[&dyn Form] = &[$(&$form),*];
    };
}

forms! {
    Recording::Imported(Imported { clock: Clock::Host, .. }) => import::Import { counts: false },
    Recording::Imported(Imported { clock: Clock::Instructions, .. }) => import::Import { counts: true },
    Recording::Inline(Inline { clock: Clock::Host, .. }) => inline::Inline { counts: false },
    Recording::Inline(Inline { clock: Clock::Instructions, .. }) => inline::Inline { counts: true },
    Recording::Profile { spans: false } => profile::Profile { form: recorder::Form::Profile, is_shared: true },
    Recording::Profile { spans: true } => profile::Profile { form: recorder::Form::ProfileSpans, is_shared: true },
    Recording::OwnProfile => profile::Profile { form: recorder::Form::ProfileSpans, is_shared: false },
    Recording::Count => count::Count(count::Counts::InMemory),
    Recording::OwnCount => count::Count(count::Counts::InGlobals),
    Recording::Sample => count::Count(count::Counts::Nowhere),
    Recording::CallTree => tree::Tree,
}
