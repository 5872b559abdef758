//! `--otlp`: sends spans while the guest runs.

use crate::delivery;
use crate::filters::CallArgs;
use crate::output::tell;
use crate::send;
use crate::spans::SpanArgs;
use anyhow::{Context, bail};
use kperf_otlp::exporter::{Config, Sending, Settings, Spool};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The sending that goes on while the guest runs. Clones share it.
#[derive(Clone, Default)]
pub struct Live(Arc<Mutex<Option<Begun>>>);

struct Begun {
    sending: Sending,
    config: Config,
    trace: PathBuf,
    quiet: bool,
}

impl Live {
    /// Makes the trace's file, and begins to send what is written to it. `endpoint` is the value of `--otlp`, or empty.
    pub fn begin(&self, endpoint: &str, trace: &Path, quiet: bool) -> anyhow::Result<Spool> {
        if trace.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            bail!("`{}` is not a file; --otlp sends from the trace, which must be one", trace.display());
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

    /// Waits until everything that can be sent is sent, and prints what became of it. Call it when the trace is complete.
    /// Returns whether all spans were acknowledged; `true` if there were none to send.
    pub fn finish(&self) -> bool {
        let begun = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Begun { sending, config, trace, quiet }) = begun else { return true };
        let length = trace.metadata().ok().map(|metadata| metadata.len());
        let delivery = delivery::wait(sending, length, quiet);
        if !quiet || !delivery.is_complete() {
            delivery::show(&delivery, &config);
        }
        if !delivery.can_be_resumed() {
            send::forget(&trace);
        } else {
            tell(send::how_to_resume(&trace));
        }
        delivery.is_complete()
    }
}
