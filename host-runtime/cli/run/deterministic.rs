//! `--deterministic`: the same random numbers and times in every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// 2000-01-01 00:00 UTC, in seconds since 1970 began.
const BEGIN: u64 = 946_684_800;
/// Nanoseconds between two readings. With 0 a guest that waits for a time would wait forever.
const STEP: u64 = 1_000;

/// Gives the guest fixed random numbers and clocks.
pub fn fix(builder: &mut WasiCtxBuilder) {
    let numbers = || Deterministic::new(noise());
    let clock = Clock::default();
    builder
        .secure_random(numbers())
        .insecure_random(numbers())
        .insecure_random_seed(0)
        .wall_clock(clock.clone())
        .monotonic_clock(clock);
}

/// Bytes that look random, from a multiplicative generator (Knuth's MMIX).
fn noise() -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..4_099).map(|_| next()).collect()
}

/// Both clocks. Reading one advances both.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn nanos(&self) -> u64 {
        self.0.fetch_add(STEP, Ordering::Relaxed)
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        STEP
    }

    fn now(&self) -> u64 {
        self.nanos()
    }
}

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(STEP)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(BEGIN) + Duration::from_nanos(self.nanos())
    }
}
