//! Pictures of call graphs, in Graphviz's and Mermaid's languages.
//!
//! ```text
//! Profile -> Picture (functions, or paths of calls) -> dot -> Graphviz -> SVG
//!                                                   -> mermaid
//! ```

mod contexts;
mod diff;
mod dot;
mod draft;
mod functions;
mod label;
mod mermaid;
mod others;
mod picture;

pub use diff::diff_lines;
pub use dot::dot;
pub use label::{heat, heat_color};
pub use mermaid::mermaid;
pub use picture::{Edge, Options, Picture, Vertex};

use kperf_profile::Profile;

/// Makes the picture of a profile.
pub fn picture(profile: &Profile, options: &Options) -> Picture {
    if options.tree { contexts::picture(profile, options) } else { functions::picture(profile, options) }
}
