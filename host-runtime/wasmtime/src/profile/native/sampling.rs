//! Takes a sample of a thread that was interrupted.

use super::ring::{Interruption, Job};
use super::target::Target;
use super::thread;
use super::unwinding::Unwinding;
use crate::profile::spent::Spent;

/// What the handler needs.
pub(super) struct Sampling {
    target: Target,
    unwinding: Unwinding,
}

impl Sampling {
    pub(super) fn of(target: &Target) -> Sampling {
        Sampling { target: target.clone(), unwinding: Unwinding::new() }
    }
}

impl Job for Sampling {
    fn interrupted(&mut self, at: &Interruption<'_>) {
        let Sampling { target, unwinding } = self;
        let running = target.thread.processor_time().unwrap_or(0);
        if !at.ring.is_rested(running) {
            return;
        }
        // The samples' own time is none of the guest's.
        let sampling = at.ring.taken();
        let spent = Spent {
            running: running.saturating_sub(sampling),
            sampling,
            waiting: target.thread.waited().unwrap_or(0),
            waits: Some(thread::waits()),
        };
        at.ring.write(at.now, spent, |found| unwinding.walk(at.registers, target, found));
        let end = target.thread.processor_time().unwrap_or(0);
        at.ring.took(at.pace, end.saturating_sub(running), end);
    }
}
