//! The soundness of a trace: loss, damage, stalls.

use crate::frames::counts::Counts;
use crate::frames::problem::Problems;
use crate::limits::OverLimit;
use crate::sampled::sampling::Sampling;
use crate::symbols::{Symbols, SymbolsProblem, printable};
use crate::text::{nanos_text, times};
use kperf_trace::{Anomaly, Preempted, Reason, Stall, StallKind, StallTotal, Summary, TraceReader, Waits};
use std::io::Read;

/// How sound a trace is: lost events, stalls, calls cut short, damage.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// How often each kind of event happened.
    pub counts: Counts,
    /// The stalls: periods in which times are not exact.
    pub stalls: Stalls,
    /// The trace's summary; `None` if the recording was cut off.
    pub summary: Option<Summary>,
    /// Damage of the file.
    pub anomalies: Vec<Anomaly>,
    /// Events that don't fit together.
    pub problems: Problems,
    /// Symbol tables that can't be used.
    pub symbols: Vec<SymbolsProblem>,
    /// What was sampled, if the trace is a profile.
    pub sampling: Option<Sampling>,
    /// Calls over the limits of paths and frames.
    pub over_limit: OverLimit,
    /// Why a ticker that was wanted is not the clock.
    pub no_ticker: Option<String>,
}

/// How many notes of a trace are shown.
const NOTES: usize = 100;

/// All stalls of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// The ticker's thread did not run.
    pub ticker: StallTotal,
    /// The guest waited for the writer.
    pub writer: StallTotal,
}

impl Stalls {
    /// Counts one more.
    pub fn add(&mut self, stall: &Stall) {
        match stall.kind {
            StallKind::Ticker => self.ticker.add(stall.nanos),
            StallKind::Writer => self.writer.add(stall.nanos),
        }
    }
}

impl Health {
    /// The health of what was read so far; `counts` and `problems` are from [`Frames`](crate::frames::Frames).
    pub fn new<R: Read>(
        reader: &TraceReader<R>,
        counts: Counts,
        problems: &Problems,
        mut stalls: Stalls,
        symbols: &Symbols,
    ) -> Health {
        let summary = reader.summary().cloned();
        if let Some(summary) = &summary {
            // It also counts those that were too many to be written one by one.
            let larger = |a: StallTotal, b: StallTotal| if b.count > a.count { b } else { a };
            stalls.ticker = larger(stalls.ticker, summary.ticker_stalls);
            stalls.writer = larger(stalls.writer, summary.writer_stalls);
        }
        let (anomalies, problems) = (reader.anomalies().to_vec(), problems.clone());
        let symbols = symbols.problems().to_vec();
        let over_limit = OverLimit { frames: counts.over_limit, ..OverLimit::default() };
        let no_ticker = reader.header().clock.no_ticker.clone();
        Health {
            counts,
            stalls,
            summary,
            anomalies,
            problems,
            symbols,
            sampling: None,
            over_limit,
            no_ticker,
        }
    }

    /// How many events were lost, as far as that is known: those that the recording dropped, or those that the gaps of
    /// the trace speak of, whichever is more (they speak of the same).
    pub fn lost_events(&self) -> u64 {
        self.counts.lost_events.max(self.summary.as_ref().map_or(0, |summary| summary.dropped_events))
    }

    /// The time that other threads took from the guests' threads, if it is known and may be in self times.
    pub(crate) fn preempted(&self) -> Option<Preempted> {
        let summary = self.summary.as_ref().filter(|summary| summary.waits != Waits::Exact)?;
        summary.preempted
    }

    /// How the program ended; `None` for a trace that doesn't say.
    pub fn outcome(&self) -> Option<&str> {
        self.summary.as_ref().map(|summary| summary.outcome.as_str()).filter(|outcome| !outcome.is_empty())
    }

    /// Calls that didn't end by a leave, by what ended them, for people: `("trap", 3)`.
    pub fn cut_short(&self) -> Vec<(&'static str, u64)> {
        let reasons =
            Reason::ALL.into_iter().map(|reason| (reason.as_str(), self.counts.unwound[reason as usize]));
        let others = [("lost", self.counts.closed_in_gaps), ("cut off", self.counts.cut_off)];
        reasons.chain(others).filter(|&(_, count)| count > 0).collect()
    }

    /// What makes figures doubtful. Each is a sentence without its full stop. A sound trace has none.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.anomalies.iter().map(ToString::to_string).collect();
        warnings.extend(self.symbols.iter().map(ToString::to_string));
        warnings.extend(self.problems.first().iter().map(ToString::to_string));
        let more = self.problems.count() - self.problems.first().len() as u64;
        if more > 0 {
            warnings.push(format!("and {} like these", times(more, "more place", "more places")));
        }
        let Counts { gaps, gaps_of_unknown_size, without_enter, .. } = self.counts;
        let lost = self.lost_events();
        if lost > 0 || gaps > 0 {
            let mut text = match lost {
                // A gap in a cut file doesn't say how many events are missing.
                0 => "events were lost, an unknown number".to_owned(),
                // Events after the last gap may be lost as well.
                lost if self.summary.is_none() => {
                    format!("at least {} lost", times(lost, "event was", "events were"))
                }
                lost => format!("{} lost", times(lost, "event was", "events were")),
            };
            if gaps > 0 {
                text.push_str(&format!(", in {}", times(gaps, "gap", "gaps")));
            }
            if gaps_of_unknown_size > 0 && lost > 0 {
                text.push_str(&format!(" ({gaps_of_unknown_size} of unknown size)"));
            }
            warnings.push(text);
        }
        if without_enter > 0 {
            warnings.push(format!(
                "{} of a function that is not known ([lost])",
                times(without_enter, "call is", "calls are")
            ));
        }
        warnings.extend(self.over_limit.warnings());
        warnings.extend(self.sampling.iter().flat_map(Sampling::warnings));
        warnings.extend(self.no_ticker.iter().map(|why| {
            format!(
                "there was no ticker, and each event read the clock itself, which costs more: {}",
                printable(why)
            )
        }));
        let StallTotal { count, nanos, longest_nanos } = self.stalls.ticker;
        if count > 0 {
            let (count, nanos, longest) =
                (times(count, "time", "times"), nanos_text(nanos), nanos_text(longest_nanos));
            warnings.push(format!(
                "the clock stood still {count}, {nanos} in all, {longest} at most: times are coarse there"
            ));
        }
        let StallTotal { count, nanos, longest_nanos } = self.stalls.writer;
        if count > 0 {
            let (count, nanos, longest) =
                (times(count, "time", "times"), nanos_text(nanos), nanos_text(longest_nanos));
            warnings.push(format!(
                "the guest waited for the trace to be written {count}, {nanos} in all, {longest} at most: that is in the \
                 times of what ran"
            ));
        }
        let notes = self.summary.iter().flat_map(|summary| &summary.notes).take(NOTES);
        warnings.extend(notes.map(|note| printable(note).to_string()));
        warnings
    }
}
