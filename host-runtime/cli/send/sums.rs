//! What is sent of a whole trace: metrics of its functions, its profile.

use super::Opts;
use crate::shared::flags::spans::{check_times, refuse_single_calls};
use crate::shared::traces::{self, Trace};
use crate::shared::{delivery, input, signals};
use anyhow::{Context, bail};
use kperf_otlp::exporter::{Sending, Signal};
use kperf_otlp::{Request, SpanOptions, Spans};
use std::process::ExitCode;
use std::sync::mpsc;

/// How many requests wait for being sent.
const READY: usize = 2;

impl Opts {
    /// Sends the metrics of all functions.
    pub(super) fn send_metrics(&self) -> anyhow::Result<ExitCode> {
        let options = SpanOptions { metrics: true, ..self.spans.options(&self.calls)? };
        let Trace { reader, progress, .. } =
            traces::source(&self.trace).symbols(&self.calls.symbols).quiet(self.quiet).open()?;
        check_times(reader.header())?;
        let mut spans = Spans::new(reader, options);
        let reading = || format!("failed to read the trace `{}`", input::name(&self.trace));
        while spans.next().with_context(reading)?.is_some() {
            progress.set_position(spans.offset());
        }
        progress.finish_and_clear();
        let metrics = spans.metrics();
        let account = self.spans.check(&self.calls, &mut spans)?;
        refuse_single_calls(&account, &self.calls)?;
        if account.calls == 0 && metrics.is_empty() {
            bail!("the trace has no calls to send");
        }
        self.send_all(Signal::Metrics, move |send| metrics.into_iter().try_for_each(send))
    }

    /// Sends the profile.
    pub(super) fn send_profile(&self) -> anyhow::Result<ExitCode> {
        let options = self.spans.profile_options()?;
        let (profile, heap) = traces::linked_profile(&self.trace, &self.calls.parse()?)?;
        traces::report_health(&profile.health);
        if profile.calls() == 0 {
            bail!("the trace has no calls to send");
        }
        self.send_all(Signal::Profiles, move |send| {
            let heap = heap.as_ref();
            traces::warn_shortened(kperf_otlp::profiles_with_memory(&profile, heap, &options, send)?);
            Ok(())
        })
    }

    /// Sends the requests that `make` gives.
    fn send_all(
        &self,
        signal: Signal,
        make: impl FnOnce(&mut dyn FnMut(Request) -> Result<(), Stopped>) -> Result<(), Stopped> + Send + 'static,
    ) -> anyhow::Result<ExitCode> {
        let config = self.delivery.config_for(signal)?;
        let (sender, requests) = mpsc::sync_channel(READY);
        let sending =
            Sending::start(config.clone(), move || Ok(requests)).context("failed to send the trace")?;
        let (signal_sender, interrupt) = mpsc::channel();
        let stopper = sending.stopper();
        signals::watch(move |signal| {
            // The receiver lives until the process ends.
            let _ = signal_sender.send(signal);
            stopper.stop();
        })?;
        // If the receiver is gone, the delivery says why.
        let _ = make(&mut |request| sender.send(request).map_err(|_| Stopped));
        drop(sender);
        let delivery = delivery::wait(sending, None, self.quiet);
        if !self.only_trouble || !delivery.is_complete() {
            delivery::show(&delivery, &config);
        }
        if delivery.is_complete() {
            return Ok(ExitCode::SUCCESS);
        }
        Ok(interrupt.try_recv().map_or(ExitCode::FAILURE, signals::Signal::code))
    }
}

/// The receiver of requests is gone.
struct Stopped;
