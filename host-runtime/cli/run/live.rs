//! `--otlp`: spans leave while the program runs.

use crate::delivery;
use crate::filters::CallArgs;
use crate::output::tell;
use crate::send;
use crate::spans::SpanArgs;
use anyhow::{Context, bail};
use kperf_otlp::exporter::{Config, Sending, Settings, Spool};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What is sent while the guest runs. All clones are the same.
#[derive(Clone, Default)]
pub struct Live(Arc<Mutex<Option<Begun>>>);

struct Begun {
    sending: Sending,
    config: Config,
    trace: PathBuf,
    quiet: bool,
}

impl Live {
    /// Makes the trace's file, and begins to send what is written to it. `endpoint` is that of `--otlp`, empty if it has
    /// none.
    pub fn begin(&self, endpoint: &str, trace: &Path, quiet: bool) -> anyhow::Result<Spool> {
        if trace.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            bail!("`{}` is no file, which --otlp needs to send the trace from", trace.display());
        }
        let endpoint = Some(endpoint.to_owned()).filter(|endpoint| !endpoint.is_empty());
        let config = Settings { endpoint, ..Settings::default() }.config()?;
        let options = SpanArgs::default().options(&CallArgs::default())?;
        let (spool, tail) = Spool::create(trace)
            .with_context(|| format!("failed to create the trace `{}`", trace.display()))?;
        let resume = send::live_journal(trace, &options, &config)?;
        let sending = Sending::live(config.clone(), options, resume, tail).context("failed to send spans")?;
        let begun = Begun { sending, config, trace: trace.to_owned(), quiet };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        Ok(spool)
    }

    /// Waits until all is sent that can be, when the trace is whole, and tells what became of it. Answers whether all was
    /// acknowledged; `true` where nothing was to be sent.
    pub fn finish(&self) -> bool {
        let begun = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Begun { sending, config, trace, quiet }) = begun else { return true };
        let length = trace.metadata().ok().map(|metadata| metadata.len());
        let delivery = delivery::wait(sending, length, quiet);
        if !quiet || !delivery.is_complete() {
            delivery::show(&delivery, &config);
        }
        if delivery.is_complete() {
            send::forget(&trace);
        } else {
            tell(send::how_to_resume(&trace));
        }
        delivery.is_complete()
    }
}
