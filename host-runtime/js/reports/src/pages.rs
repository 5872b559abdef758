//! What `npx kperf-wasm serve` asks: how pages and workers are made to record.

use kperf_pages::{Hosts, html, policy, worker};
use serde::Deserialize;
use serde_json::{Value, json};

/// A question, as JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Ask {
    /// Whether the server answers to this `Host`.
    Host {
        /// What the request says.
        host: String,
        /// Whether only this machine can reach the server.
        local: bool,
        /// The names that the user has given.
        names: Vec<String>,
    },
    /// Where the tag goes, and whether the beginning of the page is enough to say that: `{"at": 15, "enough": true}`.
    Place {
        /// The beginning of a page, a character for each byte.
        page: String,
    },
    /// The recorder's tag, as a text.
    Tag {
        /// What scripts of the page have, if it demands one.
        nonce: Option<String>,
        /// Whether the page is XHTML.
        xml: bool,
        /// How the page records; put in as it is.
        attributes: String,
    },
    /// Policies with room for the recorder, and the page's nonce: `{"policies": [..], "nonce": null}`.
    Room {
        /// The values of the answer's headers.
        policies: Vec<String>,
        /// The addresses that get room.
        ours: String,
    },
    /// What a worker begins with, and what its policy needs room for: `{"source": "..", "room": ".."}`.
    Worker {
        /// The path of its own script.
        path: String,
        /// Whether that is a module.
        module: bool,
        /// The server's name.
        host: String,
    },
}

impl Ask {
    /// The answer.
    pub fn answer(&self) -> Value {
        match self {
            Ask::Host { host, local, names } => {
                Hosts { local: *local, names: names.clone() }.has(host).into()
            }
            Ask::Place { page } => {
                let bytes: Vec<u8> = page.chars().map(|letter| letter as u8).collect();
                let (at, enough) = html::place(&bytes);
                json!({ "at": at, "enough": enough })
            }
            Ask::Tag { nonce, xml, attributes } => html::tag(nonce.as_deref(), *xml, attributes).into(),
            Ask::Room { policies, ours } => {
                let (policies, nonce) = policy::extend_all(policies, ours);
                json!({ "policies": policies, "nonce": nonce })
            }
            Ask::Worker { path, module, host } => {
                json!({ "source": worker::source(path, *module), "room": worker::room(host, path) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn questions_are_answered() {
        for (ask, answer) in [
            (json!({ "host": { "host": "localhost:1", "local": true, "names": [] } }), json!(true)),
            (json!({ "place": { "page": "\u{ef}\u{bb}\u{bf}<head>x" } }), json!({ "at": 9, "enough": true })),
            (
                json!({ "room": { "policies": ["script-src 'nonce-a'"], "ours": "h/" } }),
                json!({ "policies": ["script-src 'nonce-a' h/ blob:; worker-src 'nonce-a' h/ blob:"], "nonce": "a" }),
            ),
        ] {
            assert_eq!(serde_json::from_value::<Ask>(ask).unwrap().answer(), answer);
        }
    }
}
