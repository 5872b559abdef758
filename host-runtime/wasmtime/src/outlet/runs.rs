//! The windows of a program that runs several times.

use kperf_trace::{WAITING, WAITING_FOR_PROCESSOR, Window};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The windows of the run that goes on: of instances that are only sampled. The instance that counts ends the run.
///
/// Samples interrupt the program, and what that costs is known only roughly. The instance that counts isn't interrupted, so the run takes
/// as much processor time as that one did.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    held: Mutex<Vec<RunWindow>>,
}

/// So many windows are held. A run has one; a recording in which nothing counts has no end of them.
const MOST_HELD: usize = 16;

/// A window, and how long its thread ran meanwhile, in nanoseconds of processor time; `None` if it is unknown.
#[derive(Debug)]
pub(crate) struct RunWindow {
    pub(crate) window: Window,
    pub(crate) running: Option<u64>,
}

impl Runs {
    /// A window of the run. Returns those that aren't held any more: all of the run's if it ends here.
    pub(crate) fn add(&self, added: RunWindow) -> Vec<Window> {
        let mut held = self.held();
        if added.window.calls.is_empty() {
            held.push(added);
            let beyond = held.len().saturating_sub(MOST_HELD);
            return held.drain(..beyond).map(|RunWindow { window, .. }| window).collect();
        }
        let sampled: Option<u64> = held.iter().map(|window| window.running).sum();
        let factor = match (added.running, sampled) {
            (Some(running), Some(sampled)) if running > 0 && sampled > 0 => running as f64 / sampled as f64,
            _ => 1.0,
        };
        let mut windows: Vec<Window> =
            held.drain(..).map(|RunWindow { window, .. }| scaled(window, factor)).collect();
        windows.push(added.window);
        windows
    }

    /// The windows of a run that doesn't end.
    pub(crate) fn rest(&self) -> Vec<Window> {
        self.held().drain(..).map(|RunWindow { window, .. }| window).collect()
    }

    fn held(&self) -> MutexGuard<'_, Vec<RunWindow>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The window with its processor time multiplied. Waits stay.
fn scaled(mut window: Window, factor: f64) -> Window {
    let scale = |ticks: &mut u64| *ticks = (*ticks as f64 * factor).round() as u64;
    let waits = [WAITING, WAITING_FOR_PROCESSOR];
    window
        .nodes
        .iter_mut()
        .filter(|node| !waits.contains(&node.func))
        .for_each(|node| scale(&mut node.self_ticks));
    window.places.iter_mut().for_each(|place| scale(&mut place.ticks));
    window.squares *= factor * factor;
    window
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::FuncId;
    use kperf_trace::{WindowNode, WindowPlace};

    fn window(calls: &[(FuncId, u64)]) -> Window {
        let node = |func, self_ticks| WindowNode { parent: None, func, samples: 1, self_ticks };
        Window {
            squares: 100.0,
            nodes: vec![node(FuncId(1), 10), node(WAITING, 30)],
            calls: calls.to_vec(),
            places: vec![WindowPlace { node: 0, offset: 3, samples: 1, ticks: 10 }],
            ..Window::default()
        }
    }

    #[test]
    fn samples_have_the_time_of_the_instance_that_counts() {
        let runs = Runs::default();
        let counted = [(FuncId(1), 7)];
        assert!(runs.add(RunWindow { window: window(&[]), running: Some(400) }).is_empty());
        assert!(runs.add(RunWindow { window: window(&[]), running: Some(600) }).is_empty());
        let run = runs.add(RunWindow { window: window(&counted), running: Some(500) });
        let ticks = |window: &Window| {
            [window.nodes[0].self_ticks, window.nodes[1].self_ticks, window.places[0].ticks]
        };
        assert_eq!(run.iter().map(ticks).collect::<Vec<_>>(), [[5, 30, 5], [5, 30, 5], [10, 30, 10]]);
        assert_eq!([run[0].squares, run[2].squares], [25.0, 100.0]);
        // Where no time is known, nothing is multiplied.
        runs.add(RunWindow { window: window(&[]), running: None });
        assert_eq!(runs.add(RunWindow { window: window(&counted), running: Some(1) })[0], window(&[]));
        runs.add(RunWindow { window: window(&[]), running: Some(1) });
        assert_eq!((runs.rest().len(), runs.rest().len()), (1, 0));
        let add = || runs.add(RunWindow { window: window(&[]), running: Some(1) }).len();
        assert_eq!((0..MOST_HELD + 2).map(|_| add()).sum::<usize>(), 2);
    }
}
