//! The status that the threads and tasks of one sending share.

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

/// The status that the threads and tasks of one sending share.
#[derive(Default)]
pub(super) struct SendingStatus {
    delivery: Mutex<Delivery>,
    /// How much of the trace was read.
    pub(super) trace_bytes: AtomicU64,
    /// Whether no further request can succeed. Then spans are only counted.
    ended: AtomicBool,
    /// Whether the user wants sending to end.
    stopped: AtomicBool,
    stop: Notify,
    /// The end of the recording, for a live trace.
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

    /// No further request will succeed.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Stops sending, and waits for requests in flight.
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

    /// The future's output; `None` if sending is stopped before.
    pub(super) async fn unless_stopped<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut stop = pin!(self.stop.notified());
        // A stop is noticed from now on.
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
