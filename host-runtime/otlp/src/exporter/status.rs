//! What the threads and tasks of one sending know together.

use super::delivery::{About, Delivery};
use super::spool::Ended;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// What the threads and tasks of one sending know together.
#[derive(Default)]
pub(super) struct SendingStatus {
    delivery: Mutex<Delivery>,
    /// How much of the trace was read.
    pub(super) trace_bytes: AtomicU64,
    /// Whether no request can do better. Then further spans are only counted.
    ended: AtomicBool,
    /// Whether the user wants sending to end.
    stopped: AtomicBool,
    stop: Notify,
    /// When the recording ended, if the trace is one that is still being written.
    live: Option<Ended>,
}

impl SendingStatus {
    pub(super) fn new(live: Option<Ended>) -> SendingStatus {
        SendingStatus { live, ..SendingStatus::default() }
    }

    /// Changes the counts.
    pub(super) fn count<R>(&self, change: impl FnOnce(&mut Delivery) -> R) -> R {
        change(&mut self.delivery.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The counts so far.
    pub(super) fn delivery(&self) -> Delivery {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn retried(&self, why: &str) {
        self.count(|delivery| {
            delivery.retries += 1;
            delivery.say(About::Retried, why, 0);
        });
    }

    /// How long a request may still be tried; `None` for as long as the recording goes on.
    pub(super) fn left(&self, begun: Instant, limit: Duration) -> Option<Duration> {
        let from = match &self.live {
            None => begun,
            Some(live) => begun.max(live.at()?.into()),
        };
        Some(limit.saturating_sub(from.elapsed()))
    }

    /// No request will do better.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Ends sending; requests that are on their way are waited for.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.stop.notify_waiters();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Waits, unless sending is stopped meanwhile.
    pub(super) async fn pause(&self, wait: Duration) -> ControlFlow<()> {
        match self.unless_stopped(tokio::time::sleep(wait)).await {
            Some(()) => ControlFlow::Continue(()),
            None => ControlFlow::Break(()),
        }
    }

    /// What a future gives; `None` if sending is stopped before.
    pub(super) async fn unless_stopped<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut stop = pin!(self.stop.notified());
        // From here on a stop is noticed.
        stop.as_mut().enable();
        if self.is_stopped() {
            return None;
        }
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            stop.as_mut().poll(context).map(|()| None)
        })
        .await
    }
}
