//! Measures memory and processor time.

use peak_alloc::PeakAlloc;
use std::time::Instant;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The most bytes in use at once, beyond those in use before.
pub(crate) fn peak_bytes<T>(work: impl FnOnce() -> T) -> (usize, T) {
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let result = work();
    (HEAP.peak_usage() - before, result)
}

/// Processor time of one thread, or the clock's if the system has none.
pub(crate) fn cpu_seconds(work: impl FnOnce() + Send) -> f64 {
    let on_processor = || {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        stat.split(' ').next()?.parse::<f64>().ok()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let (begun, clock) = (on_processor(), Instant::now());
        work();
        match (begun, on_processor()) {
            (Some(begun), Some(ended)) => (ended - begun) / 1e9,
            _ => clock.elapsed().as_secs_f64(),
        }
    })
}
