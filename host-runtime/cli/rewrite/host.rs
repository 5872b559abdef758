//! Flags for what the module's host does.

use anyhow::Context;
use kperf_rewriter::{Host, Options, Pattern};

/// What the host does.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What the host does")]
pub struct HostArgs {
    /// Functions imported from this module (a glob) never call back into the guest, or never catch what fails there. Calls of
    /// them then need no `unwind`, and the guest is faster. `*` means all modules. May be repeated.
    #[arg(long, value_name = "MODULE")]
    no_callbacks: Vec<String>,
    /// The host's functions reach the guest only as imports, never in tables, globals or values. Indirect calls then need no
    /// `unwind`.
    #[arg(long)]
    closed: bool,
}

impl HostArgs {
    /// Adds these flags to the rewriter's options.
    pub fn apply(&self, mut options: Options) -> anyhow::Result<Options> {
        let harmless = self
            .no_callbacks
            .iter()
            .map(|text| Pattern::glob(text).context("failed to read the pattern of --no-callbacks"));
        let all = self.no_callbacks.iter().any(|text| text == "*");
        options.host =
            Host { harmless: harmless.collect::<anyhow::Result<_>>()?, closed: self.closed || all };
        let mut words: Vec<String> = Vec::new();
        for text in &self.no_callbacks {
            words.extend(["--no-callbacks".to_owned(), text.clone()]);
        }
        if self.closed {
            words.push("--closed".to_owned());
        }
        if !words.is_empty() {
            let described =
                (!options.description.is_empty()).then(|| std::mem::take(&mut options.description));
            options.description = described.into_iter().chain(words).collect::<Vec<_>>().join(" ");
        }
        Ok(options)
    }
}
