//! Samples of a trace, and their weight.

use crate::text::times;
use crate::tree::nodes::{CallTree, NodeId};
use kperf_abi::FuncId;
use kperf_trace::LaneId;
use std::collections::BTreeMap;

/// The samples of a trace. Counts of calls are exact for each function; times and paths are estimated from samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// How many windows these are.
    pub windows: u64,
    /// How many there are, of the lane that has the most.
    pub max_windows: u64,
    /// When the first of these windows began and the last ended, in ticks.
    pub range: Option<(u64, u64)>,
    /// How often a sample was to be taken, in nanoseconds; the longest period if there are several.
    pub period_nanos: u64,
    /// Calls that took at least this many nanoseconds are also in the trace one by one; 0 if none are.
    pub span_min_nanos: u64,
    /// Samples that found out which calls were open, or that none was.
    pub samples: u64,
    /// Samples that failed to find out.
    pub torn: u64,
    /// Samples with a path too deep, or over the limit of paths: they count for its outer part.
    pub cut: u64,
    /// How long calls were open, by the samples, in ticks.
    pub busy_ticks: u64,
    /// How long no call was open, by the samples, in ticks.
    pub idle_ticks: u64,
    /// Sum of the squares of the weights of samples of open calls, in ticks^2.
    pub squares: f64,
}

impl Sampling {
    /// Whether the program counted its calls by path itself, so that there are no samples. The error of its times is unknown.
    pub fn is_counted(&self) -> bool {
        self.period_nanos == 0
    }

    /// The number of equal samples with the same error: `(sum of weights)^2 / sum of squares` (Kish, *Survey Sampling*,
    /// 1965). A sample's weight is the time since the one before.
    pub fn effective_samples(&self) -> f64 {
        let busy = self.busy_ticks as f64;
        if self.squares > 0.0 { busy * busy / self.squares } else { 0.0 }
    }

    /// What makes figures doubtful. Each is a sentence without its full stop.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        // One in a hundred changes no share by more than a point.
        if self.torn > self.samples / 100 {
            let samples = times(self.torn, "sample", "samples");
            warnings.push(format!(
                "{samples} of {} did not see which calls were open: the next ones count for them",
                self.torn + self.samples
            ));
        }
        if self.cut > 0 {
            let samples = times(self.cut, "sample", "samples");
            warnings.push(format!(
                "the path of {samples} was deeper, or one more, than is kept: they count for its outer part"
            ));
        }
        warnings
    }

    /// Half the width of the interval that a share of the time of open calls lies in with 95 % confidence, as a share.
    pub fn error(&self, share: f64) -> f64 {
        wilson(share, self.effective_samples())
    }
}

/// So many standard errors are half of an interval of 95 % confidence.
pub(crate) const Z: f64 = 1.96;

/// Half the width of the interval that a share lies in with 95 % confidence if `samples` found it: Wilson's score interval,
/// which is some `1.96 sqrt(p (1 - p) / n)`, and not 0 where `p` is.
pub(crate) fn wilson(share: f64, samples: f64) -> f64 {
    if samples <= 0.0 {
        return 1.0;
    }
    if samples.is_infinite() {
        return 0.0;
    }
    let p = share.clamp(0.0, 1.0);
    Z / (1.0 + Z * Z / samples) * (p * (1.0 - p) / samples + Z * Z / (4.0 * samples * samples)).sqrt()
}

/// The samples at a place in the code of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampledPlace {
    /// How many samples.
    pub samples: u64,
    /// Their weight, in ticks.
    pub ticks: u64,
}

impl SampledPlace {
    pub(super) fn add(&mut self, more: SampledPlace) {
        self.samples = self.samples.saturating_add(more.samples);
        self.ticks = self.ticks.saturating_add(more.ticks);
    }
}

/// By the function, and the offset in its body in the original module.
pub type SampledPlaces = BTreeMap<(FuncId, u32), SampledPlace>;
/// The same by the node of the tree, where the function is called on a path.
pub type TreePlaces = BTreeMap<(NodeId, u32), SampledPlace>;

/// One window of a profile.
#[derive(Clone, Debug)]
pub struct WindowProfile {
    /// Its lane.
    pub lane: LaneId,
    /// Its number among the windows of its lane. The first is 1.
    pub number: u64,
    /// When it began.
    pub start_ticks: u64,
    /// When it ended.
    pub end_ticks: u64,
    /// How far its times can be trusted.
    pub sampling: Sampling,
    /// Its calls.
    pub tree: CallTree,
}
