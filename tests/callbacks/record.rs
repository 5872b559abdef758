//! The recorder of imported probes here. It keeps the open calls, and every event must fit them.

use super::Functions;
use std::sync::Arc;

/// Names of functions, by id.
pub(crate) type Names = Arc<[String]>;

/// An open call's function, outermost first.
pub(crate) type Open = Vec<String>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Enter(String),
    /// `unwound`: the call didn't return.
    End {
        unwound: bool,
    },
}

/// The calls, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallLog {
    pub(crate) steps: Vec<Step>,
}

impl CallLog {
    /// The calls as if these functions had no probe.
    pub(crate) fn without(&self, skipped: &Functions) -> CallLog {
        let mut kept = Vec::new();
        let mut open = Vec::new();
        for step in &self.steps {
            let keep = match step {
                Step::Enter(name) => {
                    open.push(!skipped.contains(name));
                    open.last().copied()
                }
                Step::End { .. } => open.pop(),
            };
            if keep.unwrap_or(true) {
                kept.push(step.clone());
            }
        }
        CallLog { steps: kept }
    }

    /// One line for each step, indented.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut depth = 0_usize;
        let line = |step: &Step| match step {
            Step::Enter(name) => {
                depth += 1;
                format!("{}{name}", "  ".repeat(depth - 1))
            }
            Step::End { unwound } => {
                depth = depth.saturating_sub(1);
                format!("{}{}", "  ".repeat(depth), if *unwound { "unwound" } else { "." })
            }
        };
        self.steps.iter().map(line).collect()
    }
}

/// The open calls without those of some functions.
pub(crate) fn without(open: &Open, skipped: &Functions) -> Open {
    open.iter().filter(|name| !skipped.contains(*name)).cloned().collect()
}

/// Answers imported probes.
#[derive(Default)]
pub(crate) struct Strict {
    pub(crate) calls: CallLog,
    pub(crate) open: Open,
    pub(crate) unwound: u64,
    /// The host's functions that have probes. What they catch is closed when they end.
    pub(crate) imported: Functions,
    /// The first thing that was out of order.
    pub(crate) fault: Option<String>,
}

impl Strict {
    pub(crate) fn enter(&mut self, name: &str) -> u32 {
        self.calls.steps.push(Step::Enter(name.to_owned()));
        self.open.push(name.to_owned());
        self.open.len() as u32
    }

    /// A real recorder closes what is above the frame. Here nothing may be above it.
    pub(crate) fn leave(&mut self, token: u32) {
        let heals =
            self.open.get((token as usize).wrapping_sub(1)).is_some_and(|name| self.imported.contains(name));
        if token == 0 || token as usize != self.open.len() && !heals {
            self.fault(format!("leave({token}) with {:?} open", self.open));
        }
        self.close(token.max(1));
        self.calls.steps.push(Step::End { unwound: false });
        self.open.pop();
    }

    pub(crate) fn unwind(&mut self, token: u32) {
        if token == 0 || token as usize > self.open.len() {
            self.fault(format!("unwind({token}) with {:?} open", self.open));
        }
        self.close(token.max(1));
    }

    /// Closes the calls that are deeper.
    pub(crate) fn close(&mut self, depth: u32) {
        while self.open.len() > depth as usize {
            self.open.pop();
            self.unwound += 1;
            self.calls.steps.push(Step::End { unwound: true });
        }
    }

    /// Called by a function without a probe: closes the calls that are deeper than at its beginning.
    pub(crate) fn close_of_guest(&mut self, depth: u32) {
        if depth as usize > self.open.len() {
            self.fault(format!("close({depth}) with {:?} open", self.open));
        }
        self.close(depth);
    }

    fn fault(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}
