//! `--otlp`: sends spans, and the windows of profiles, while the guest runs; metrics and the profile of a trace when it has ended.

use crate::send::{self, SignalArg};
use crate::shared::delivery::{self, DeliveryArgs};
use crate::shared::flags::filters::CallArgs;
use crate::shared::flags::spans::SpanArgs;
use crate::shared::output;
use anyhow::{Context, bail};
use kperf_otlp::exporter::{Config, Sending, Signal, Spool};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The endpoint of `--otlp`. Fails if it is the module, which follows a flag without an endpoint.
pub fn endpoint(text: &str) -> Result<String, String> {
    let is_module =
        [".wasm", ".wat", ".cwasm"].iter().any(|ending| text.ends_with(ending)) && !text.contains("://");
    if is_module {
        return Err(
            "this is a module: give an endpoint before it (http://localhost:4318), or put --otlp after it"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// The sending that goes on while the guest runs. Clones share it.
#[derive(Clone, Default)]
pub struct Live(Arc<Mutex<Option<Begun>>>);

/// What is sent, and where.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The value of `--otlp`, or empty.
    pub endpoint: String,
    /// What is sent.
    pub signals: Vec<SignalArg>,
    /// Whether the trace is a profile.
    pub is_profile: bool,
    /// How long a request is retried after the end of the run.
    pub give_up_after: Option<Duration>,
}

struct Begun {
    sendings: Vec<(Sending, Config)>,
    delivery: DeliveryArgs,
    /// What is sent at the end.
    later: Vec<SignalArg>,
    trace: PathBuf,
    quiet: bool,
}

impl Live {
    /// Makes the trace's file, and begins to send what is written to it.
    pub fn begin(&self, wanted: &Wanted, trace: &Path, quiet: bool) -> anyhow::Result<Spool> {
        let Wanted { endpoint, signals, is_profile, give_up_after } = wanted;
        if trace.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            bail!("`{}` is not a file; --otlp sends from the trace, which must be one", trace.display());
        }
        let endpoint = Some(endpoint.clone()).filter(|endpoint| !endpoint.is_empty());
        let delivery = DeliveryArgs::to(endpoint, *give_up_after);
        let config = |signal| delivery.config_for(signal);
        let has = |signal| signals.contains(&signal);
        // A wrong configuration fails before anything runs.
        for (arg, signal) in [(SignalArg::Metrics, Signal::Metrics), (SignalArg::Profiles, Signal::Profiles)]
        {
            if has(arg) {
                Sending::check(&config(signal)?)?;
            }
        }
        let (spool, tail) = Spool::create(trace)
            .with_context(|| format!("failed to create the trace `{}`", trace.display()))?;
        let mut sendings = Vec::new();
        let mut later = Vec::new();
        if has(SignalArg::Profiles) && *is_profile {
            let (config, tail) = (config(Signal::Profiles)?, tail.again(trace)?);
            let options = SpanArgs::default().profile_options()?;
            let sending = Sending::live_profiles(config.clone(), options, tail);
            sendings.push((sending.context("failed to send profiles")?, config));
        } else if has(SignalArg::Profiles) {
            later.push(SignalArg::Profiles);
        }
        if has(SignalArg::Metrics) {
            later.push(SignalArg::Metrics);
        }
        if has(SignalArg::Traces) {
            let config = config(Signal::Traces)?;
            let options = SpanArgs::default().options(&CallArgs::default())?;
            let sending = Sending::live(config.clone(), options, tail);
            sendings.push((sending.context("failed to send spans")?, config));
        }
        let begun = Begun { sendings, delivery, later, trace: trace.to_owned(), quiet };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        Ok(spool)
    }

    /// Waits until everything that can be sent is sent, and prints what became of it. Call it when the trace is complete.
    /// Returns whether everything was acknowledged; `true` if there was nothing to send.
    pub fn finish(&self) -> bool {
        let begun = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Begun { sendings, delivery: wanted, later, trace, quiet }) = begun else { return true };
        let length = trace.metadata().ok().map(|metadata| metadata.len());
        let mut all = true;
        for (sending, config) in sendings {
            let delivery = delivery::wait(sending, length, quiet);
            if !quiet || !delivery.is_complete() {
                delivery::show(&delivery, &config);
            }
            all &= delivery.is_complete();
            if config.signal != Signal::Traces {
                if !delivery.is_complete() {
                    output::status(format_args!(
                        "`kperf-wasm send {} --signals profiles` sends the whole profile",
                        trace.display()
                    ));
                }
            } else if delivery.can_be_sent_again() {
                output::status(send::how_to_repeat(&trace));
            }
        }
        // A Collector may take one signal and not another.
        if !later.is_empty() {
            all &= send::send_whole(&trace, wanted, later, quiet).unwrap_or_else(|error| {
                output::error(format_args!("{error:#}"));
                false
            });
        }
        all
    }
}
