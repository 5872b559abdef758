//! For how long a thread was ready to run and had no processor: only the sum.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// A thread's scheduler statistics, which any thread can read.
pub(crate) struct Delay(File);

impl Delay {
    /// `None` if the system doesn't have them.
    pub(crate) fn of_this_thread() -> Option<Delay> {
        Delay::at("/proc/thread-self/schedstat")
    }

    /// The same of a thread of this process, by the kernel's number.
    pub(crate) fn of_thread(id: i32) -> Option<Delay> {
        Delay::at(&format!("/proc/self/task/{id}/schedstat"))
    }

    fn at(path: &str) -> Option<Delay> {
        let delay = Delay(File::open(path).ok()?);
        delay.nanos().map(|_| delay)
    }

    /// The sum since the thread began, in nanoseconds. `None` if the thread has ended. A signal's handler may call this.
    pub(crate) fn nanos(&self) -> Option<u64> {
        // On a processor, waiting for one, times that it got one.
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0).ok()?;
        str::from_utf8(text.get(..length)?).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}
