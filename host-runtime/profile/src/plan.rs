//! Which functions to leave without probes, so that a trace costs no more than it may.

use crate::symbols::{Symbols, printable};
use crate::tree::flat::{FlatProfile, Row};

/// Functions to leave without probes, and what that changes. Times are nanoseconds of the guest's thread.
///
/// ```text
/// program 10 ms, probes 2.5 ns a call      all probes    without hot
///   hot     4,000,000 calls, 6 ms self       10 ms           -         its time becomes its callers'
///   warm       40,000 calls, 4 ms self      0.1 ms         0.1 ms
///   cost                                       101 %          1 %
/// ```
#[derive(Clone, Debug)]
pub struct ProbePlan<'f> {
    /// These, the most calls first.
    pub left_out: Vec<&'f Row>,
    /// How long the program runs without probes.
    pub program_nanos: f64,
    /// What the probes of a call cost.
    pub call_nanos: f64,
    /// How many calls all functions have.
    pub calls: u64,
    /// How many of them are in the trace then.
    pub recorded_calls: u64,
}

impl<'f> ProbePlan<'f> {
    /// Leaves out what loses the least self time for what it saves, until the probes of all other functions cost at most `budget` of
    /// the program (0.05 for a twentieth). `includes_probes`: the self times contain the probes' cost, as in a trace.
    ///
    /// Functions stay if `can_go` answers no. If all others are left out and it is still not enough, [`cost`](Self::cost) is above
    /// the budget.
    pub fn new(
        flat: &'f FlatProfile,
        call_nanos: f64,
        budget: f64,
        includes_probes: bool,
        can_go: impl Fn(&Row) -> bool,
    ) -> ProbePlan<'f> {
        let probes = |row: &Row| row.calls as f64 * call_nanos;
        let own = |row: &Row| if includes_probes { row.self_nanos - probes(row) } else { row.self_nanos };
        // Probes in a trace can seem to cost more than there was.
        let least = flat.self_nanos / 100.0;
        let program_nanos = if includes_probes {
            (flat.self_nanos - flat.calls as f64 * call_nanos).max(least)
        } else {
            flat.self_nanos
        };
        let mut too_much = flat.calls as f64 * call_nanos - budget * program_nanos;
        let mut candidates: Vec<&Row> = flat.rows.iter().filter(|row| row.calls > 0 && can_go(row)).collect();
        let loss = |row: &Row| own(row).max(0.0) / row.calls as f64;
        candidates.sort_by(|a, b| loss(a).total_cmp(&loss(b)).then(b.calls.cmp(&a.calls)));
        let mut left_out = Vec::new();
        for row in candidates {
            if too_much <= 0.0 {
                break;
            }
            too_much -= probes(row);
            left_out.push(row);
        }
        // What a later one has made unnecessary stays, the most self time first.
        left_out.sort_by(|a, b| own(b).total_cmp(&own(a)));
        left_out.retain(|row| {
            let stays = too_much + probes(row) <= 0.0;
            if stays {
                too_much += probes(row);
            }
            !stays
        });
        left_out.sort_by(|a, b| b.calls.cmp(&a.calls).then(a.func.cmp(&b.func)));
        let gone: u64 = left_out.iter().map(|row| row.calls).sum();
        ProbePlan {
            left_out,
            program_nanos,
            call_nanos,
            calls: flat.calls,
            recorded_calls: flat.calls - gone,
        }
    }

    /// What so many calls cost, as a part of the program.
    pub fn cost(&self, calls: u64) -> f64 {
        if calls == 0 { 0.0 } else { calls as f64 * self.call_nanos / self.program_nanos }
    }

    /// The part of all self time that becomes the callers', 0 to 1.
    pub fn lost_share(&self) -> f64 {
        self.left_out.iter().map(|row| row.share).sum()
    }

    /// By what a plan names a function: its name, and its index if others have this name. `None` for a name of several lines.
    pub fn name(symbols: &Symbols, row: &Row) -> Option<String> {
        let symbol = symbols.get(row.func).filter(|_| !row.name.contains(['\n', '\r']))?;
        Some(if symbols.is_unique(row.func) {
            row.name.to_string()
        } else {
            format!("{} #{}", printable(&row.name), symbol.func_index.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::FuncId;

    fn flat(rows: &[(u64, f64)]) -> FlatProfile {
        let self_nanos = rows.iter().map(|(_, nanos)| nanos).sum();
        let row = |(n, &(calls, nanos)): (usize, &(u64, f64))| Row {
            func: FuncId(n as u32),
            name: format!("f{n}").into(),
            calls,
            is_counted: false,
            total_nanos: nanos,
            paused_nanos: 0.0,
            self_nanos: nanos,
            average_nanos: 0.0,
            min_nanos: 0.0,
            max_nanos: 0.0,
            share: nanos / self_nanos,
            unwound: 0,
            unfinished: 0,
            callers: Vec::new(),
        };
        FlatProfile {
            rows: rows.iter().enumerate().map(row).collect(),
            self_nanos,
            recorder_nanos: 0.0,
            processor_nanos: 0.0,
            waiting_nanos: 0.0,
            calls: rows.iter().map(|(calls, _)| calls).sum(),
        }
    }

    fn left_out(flat: &FlatProfile, budget: f64, includes_probes: bool) -> (Vec<u32>, f64) {
        let plan = ProbePlan::new(flat, 2.0, budget, includes_probes, |_| true);
        (plan.left_out.iter().map(|row| row.func.0).collect(), plan.cost(plan.recorded_calls))
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let program = flat(&[(10, 1000.0), (5, 1000.0)]);
        assert_eq!(left_out(&program, 0.05, false), (vec![], 0.015));
        assert_eq!(left_out(&flat(&[]), 0.05, false), (vec![], 0.0));
    }

    #[test]
    fn short_calls_go_first_and_no_more_than_needed() {
        // 2,000 and 8,000 ns of probes; the budget is 500.
        let program = flat(&[(1_000, 6_000.0), (4_000, 2_000.0), (10, 2_000.0)]);
        assert_eq!(left_out(&program, 0.05, false), (vec![1, 0], 0.002));
        assert_eq!(left_out(&program, 0.25, false), (vec![1], 0.202));
        // The second is the shortest, but the third alone is enough.
        let program = flat(&[(10, 9_000.0), (100, 10.0), (1_000, 990.0)]);
        assert_eq!(left_out(&program, 0.05, false), (vec![2], 0.022));
    }

    #[test]
    fn a_trace_contains_what_its_probes_cost() {
        // 10,000 ns are the program's.
        let program = flat(&[(1_000, 3_000.0), (10, 9_020.0)]);
        assert_eq!(left_out(&program, 0.05, true), (vec![0], 0.002));
        // Less than its probes: nothing is negative or divided by 0.
        let (functions, cost) = left_out(&flat(&[(1_000, 100.0)]), 0.05, true);
        assert_eq!((functions, cost), (vec![0], 0.0));
    }

    #[test]
    fn functions_may_have_to_stay() {
        let program = flat(&[(1_000, 1_000.0), (10, 9_000.0)]);
        let plan = ProbePlan::new(&program, 2.0, 0.05, false, |row| row.func.0 != 0);
        assert_eq!((plan.left_out.len(), plan.recorded_calls), (1, 1_000));
        assert!(plan.cost(plan.recorded_calls) > 0.05);
    }
}
