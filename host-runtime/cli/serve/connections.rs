//! The connections that are open. There are few at most: when there is no room for another, the one that was still for the longest
//! time goes. So clients that say nothing, or little at a time, don't keep others out.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

/// So many are open at most. Each may want a file or a connection to another server, and systems give a process 1,024 of all that.
const MOST: usize = 400;

/// All connections.
pub struct Connections {
    begun: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

struct Entry {
    activity: Arc<Activity>,
    /// When it is dropped, the connection ends.
    _stop: oneshot::Sender<()>,
}

/// What a connection does.
#[derive(Default)]
pub struct Activity {
    /// When bytes came or went, in milliseconds.
    last: AtomicU64,
    /// Whether a request is being answered.
    is_busy: AtomicBool,
}

/// The place of a connection among all. Dropping it gives the place back.
pub struct Place {
    all: Arc<Connections>,
    number: u64,
    activity: Arc<Activity>,
}

/// A request that is being answered.
pub struct Busy(Arc<Activity>);

impl Connections {
    /// Starts without connections.
    pub fn new() -> Arc<Connections> {
        Arc::new(Connections { begun: Instant::now(), open: Mutex::default() })
    }

    /// Makes a place for a connection, which ends when `stopped` says something or is closed.
    pub fn place(self: &Arc<Self>) -> (Place, oneshot::Receiver<()>) {
        let (stop, stopped) = oneshot::channel();
        let activity = Arc::new(Activity::default());
        activity.last.store(self.now(), Ordering::Relaxed);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.entries.len() >= MOST {
            open.end_one();
        }
        open.next += 1;
        let number = open.next;
        open.entries.insert(number, Entry { activity: activity.clone(), _stop: stop });
        (Place { all: self.clone(), number, activity }, stopped)
    }

    /// Ends the connection that was still for the longest time. Those without a request go first.
    pub fn end_one(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).end_one();
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }
}

impl Open {
    fn end_one(&mut self) {
        let stillness = |entry: &Entry| {
            (entry.activity.is_busy.load(Ordering::Relaxed), entry.activity.last.load(Ordering::Relaxed))
        };
        let stillest = self.entries.iter().min_by_key(|(_, entry)| stillness(entry));
        if let Some(number) = stillest.map(|(&number, _)| number) {
            self.entries.remove(&number);
        }
    }
}

impl Place {
    /// What the connection does, for those who answer its requests.
    pub fn activity(&self) -> Arc<Activity> {
        self.activity.clone()
    }

    /// The connection's stream, whose bytes are noticed.
    pub fn watch<S>(self, stream: S) -> Watched<S> {
        Watched { stream, place: self }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.all.open.lock().unwrap_or_else(PoisonError::into_inner).entries.remove(&self.number);
    }
}

impl Activity {
    /// A request is being answered, until what this returns is dropped.
    pub fn begin(self: Arc<Self>) -> Busy {
        self.is_busy.store(true, Ordering::Relaxed);
        Busy(self)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Relaxed);
    }
}

/// A stream that notices when it is used.
pub struct Watched<S> {
    stream: S,
    place: Place,
}

impl<S> Watched<S> {
    fn notice<T>(&self, poll: Poll<T>) -> Poll<T> {
        if poll.is_ready() {
            self.place.activity.last.store(self.place.all.now(), Ordering::Relaxed);
        }
        poll
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.notice(poll)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.notice(poll)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.notice(poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_stillest_goes_and_one_with_a_request_last() {
        let all = Connections::new();
        let mut places: Vec<_> = (0..MOST).map(|_| all.place()).collect();
        for (time, (place, _)) in places.iter().enumerate() {
            place.activity.last.store(time as u64, Ordering::Relaxed);
        }
        let busy = places[0].0.activity().begin();
        let _more = all.place();
        let is_closed = |stopped: &mut oneshot::Receiver<()>| {
            matches!(stopped.try_recv(), Err(oneshot::error::TryRecvError::Closed))
        };
        let closed: Vec<_> = (0..MOST).filter(|&n| is_closed(&mut places[n].1)).collect();
        assert_eq!(closed, [1]);
        drop(busy);
        all.end_one();
        assert!(is_closed(&mut places[0].1) && !is_closed(&mut places[2].1));
        drop(places);
        assert_eq!(all.open.lock().unwrap().entries.len(), 1);
    }
}
