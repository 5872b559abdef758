//! How long guests' threads were ready to run while other threads had the processors. Only Linux reports it.

use kperf_trace::Preempted;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// More threads are not watched.
const MOST_THREADS: usize = 1024;

/// The threads that guests run on.
#[derive(Default)]
pub(crate) struct Watched {
    threads: Mutex<BTreeMap<PathBuf, Thread>>,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    begin: Preempted,
    /// When it ended.
    end: Option<Preempted>,
}

thread_local! {
    /// The recordings that watch this thread. They get its last figures when it ends.
    static WATCHERS: RefCell<Watchers> = const { RefCell::new(Watchers(Vec::new())) };
}

struct Watchers(Vec<(Weak<Watched>, PathBuf)>);

impl Watched {
    /// Watches the calling thread, which may run a guest. After the first time it costs next to nothing.
    pub(crate) fn watch(self: &Arc<Self>) {
        // A thread that is ending has no list any more.
        let _ = WATCHERS.try_with(|watchers| {
            let mut watchers = watchers.borrow_mut();
            if watchers.0.iter().any(|(watched, _)| std::ptr::eq(watched.as_ptr(), Arc::as_ptr(self))) {
                return;
            }
            watchers.0.retain(|(watched, _)| watched.strong_count() > 0);
            let Some((path, begin)) = this_thread() else { return };
            let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            if threads.len() < MOST_THREADS {
                threads.insert(path.clone(), Thread { begin, end: None });
                watchers.0.push((Arc::downgrade(self), path));
            }
        });
    }

    /// The sum over all watched threads; `None` if unknown.
    pub(crate) fn total(&self) -> Option<Preempted> {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = threads.iter().filter_map(|(path, thread)| {
            let end = thread.end.or_else(|| read(path))?;
            Some(Preempted {
                count: end.count.saturating_sub(thread.begin.count),
                nanos: end.nanos.saturating_sub(thread.begin.nanos),
                threads: 1,
            })
        });
        parts.reduce(|a, b| Preempted {
            count: a.count + b.count,
            nanos: a.nanos.saturating_add(b.nanos),
            threads: a.threads + b.threads,
        })
    }
}

impl Drop for Watchers {
    fn drop(&mut self) {
        for (watched, path) in self.0.drain(..) {
            if let Some(watched) = watched.upgrade() {
                let mut threads = watched.threads.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(thread) = threads.get_mut(&path) {
                    thread.end = read(&path);
                }
            }
        }
    }
}

/// The calling thread's file of scheduler statistics, and its figures.
fn this_thread() -> Option<(PathBuf, Preempted)> {
    // `PID/task/TID`.
    let path = PathBuf::from("/proc").join(std::fs::read_link("/proc/thread-self").ok()?);
    let figures = read(&path)?;
    Some((path, figures))
}

fn read(thread: &std::path::Path) -> Option<Preempted> {
    // On a processor, waiting for one, times that it got one.
    let times = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    let status = std::fs::read_to_string(thread.join("status")).ok()?;
    let count = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    Some(Preempted {
        count: count.trim().parse().ok()?,
        nanos: times.split_ascii_whitespace().nth(1)?.parse().ok()?,
        threads: 1,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_ended_counts_and_waits_while_others_run() {
        if this_thread().is_none() {
            return;
        }
        let watched = Arc::new(Watched::default());
        let burn = || {
            let begun = std::time::Instant::now();
            while begun.elapsed() < std::time::Duration::from_millis(300) {
                std::hint::spin_loop();
            }
        };
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        std::thread::scope(|scope| {
            let spawn = |_| {
                scope.spawn(|| {
                    watched.watch();
                    watched.watch();
                    burn();
                })
            };
            let threads: Vec<_> = (0..3 * processors).map(spawn).collect();
            // A scope ends with its threads' closures. Only `join` waits for what the threads drop at their ends.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let threads = watched.threads.lock().unwrap();
        assert_eq!(threads.len(), 3 * processors);
        assert!(threads.values().all(|thread| thread.end.is_some()));
        drop(threads);
        // Three threads share a processor for 300 ms: each waits for some 200.
        let total = watched.total().unwrap();
        assert_eq!(total.threads as usize, 3 * processors);
        assert!(total.count > 0 && total.nanos > 50_000_000 * processors as u64, "{total:?}");
    }
}
