//! What a development server does to an app so that its pages record. There are two such servers, `kperf-wasm serve` and that of
//! the npm package; what both must do alike is here. No IO.

pub mod hosts;
pub mod html;
pub mod policy;
pub mod worker;

pub use hosts::Hosts;

/// The folder of the server's own files. No site should have a folder of this name.
pub const OURS: &str = "/.kperf/";

/// What makes a page cross-origin isolated, which gives it shared memory and a fine clock: headers of every answer of a site that
/// doesn't say these itself. `credentialless`, unlike `require-corp`, lets it load files of other sites as before.
pub const ISOLATED: [(&str, &str); 3] = [
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "credentialless"),
    ("cross-origin-resource-policy", "same-origin"),
];
