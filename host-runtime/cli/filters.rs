//! `--only` and `--skip`, which read the same wherever functions are chosen.

use anyhow::Context;
use kperf_rewriter::{Filter, Pattern};

/// Which functions.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct FilterArgs {
    /// Only functions whose demangled name matches: a glob (`life::*`) or a `/regex/`. May be repeated.
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Not the functions whose demangled name matches; stronger than --only. May be repeated.
    #[arg(long, value_name = "PATTERN")]
    skip: Vec<String>,
}

impl FilterArgs {
    /// The patterns, parsed.
    pub fn filter(&self) -> anyhow::Result<Filter> {
        let parse = |flag: &str, texts: &[String]| {
            texts
                .iter()
                .map(|text| {
                    Pattern::parse(text).with_context(|| format!("failed to read the pattern of {flag}"))
                })
                .collect::<anyhow::Result<Vec<_>>>()
        };
        Ok(Filter { only: parse("--only", &self.only)?, skip: parse("--skip", &self.skip)? })
    }

    /// The flags as one would type them.
    pub fn describe(&self, words: &mut Vec<String>) {
        for (flag, texts) in [("--only", &self.only), ("--skip", &self.skip)] {
            for text in texts {
                words.extend([flag.to_owned(), text.clone()]);
            }
        }
    }
}
