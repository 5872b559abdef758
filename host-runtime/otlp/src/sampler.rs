//! Which traces are sampled.

use kperf_trace::TraceContext;

/// Chooses the traces whose spans are made, as OpenTelemetry's samplers do. The default is `parentbased_always_on`.
///
/// Source: "Built-in samplers" in OpenTelemetry's specification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// The share of the traces that are sampled, from 0 to 1. Their ids decide, as in other programs.
    pub ratio: f64,
    /// Whether calls below a span of another program are sampled if that span is.
    pub parent_based: bool,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler { ratio: 1.0, parent_based: true }
    }
}

impl Sampler {
    /// The sampler with this name in `OTEL_TRACES_SAMPLER`, and the argument in `OTEL_TRACES_SAMPLER_ARG`: the ratio, 1 if there is
    /// none. `None` if there is no such sampler here, or the argument is not a ratio.
    pub fn named(name: &str, argument: Option<&str>) -> Option<Sampler> {
        let (parent_based, root) = match name.strip_prefix("parentbased_") {
            Some(root) => (true, root),
            None => (false, name),
        };
        let ratio = match root {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => argument.map_or(Some(1.0), |text| text.parse().ok())?,
            _ => return None,
        };
        (0.0..=1.0).contains(&ratio).then_some(Sampler { ratio, parent_based })
    }

    /// Whether a call is sampled that begins a trace with this id, or is below another program's span.
    ///
    /// ```
    /// # use kperf_otlp::{Sampler, TraceContext};
    /// let sampler = Sampler::named("parentbased_traceidratio", Some("0.01")).expect("a sampler");
    /// let parent = TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "")?;
    /// assert!(sampler.samples(&parent.trace_id, Some(&parent)));
    /// // Nobody is above it, and its last 63 bits, 0x0448.., are more than a hundredth of the largest number.
    /// assert!(!sampler.samples(&parent.trace_id, None));
    /// # Ok::<(), kperf_otlp::ContextError>(())
    /// ```
    pub fn samples(&self, trace_id: &[u8; 16], parent: Option<&TraceContext>) -> bool {
        match parent {
            Some(parent) if self.parent_based => parent.is_sampled(),
            _ => self.ratio >= 1.0 || below(trace_id, self.ratio),
        }
    }
}

/// Whether a trace id is in this share of all: its lower 63 bits are compared, as Go's and Java's libraries do.
fn below(trace_id: &[u8; 16], ratio: f64) -> bool {
    let number = u128::from_be_bytes(*trace_id) as u64 & (u64::MAX >> 1);
    (number as f64) < ratio * (1_u64 << 63) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_specification() {
        let named = |name, argument| Sampler::named(name, argument).map(|s| (s.ratio, s.parent_based));
        assert_eq!(named("always_on", None), Some((1.0, false)));
        assert_eq!(named("always_off", Some("x")), Some((0.0, false)));
        assert_eq!(named("traceidratio", Some("0.25")), Some((0.25, false)));
        assert_eq!(named("parentbased_traceidratio", None), Some((1.0, true)));
        assert_eq!(named("parentbased_always_off", None), Some((0.0, true)));
        for (name, argument) in [("jaeger_remote", None), ("", None), ("traceidratio", Some("2"))] {
            assert_eq!(named(name, argument), None);
        }
        assert_eq!(named("traceidratio", Some("NaN")), None);
    }

    #[test]
    fn a_ratio_is_a_share_of_all_ids() {
        let ids = crate::ids::Ids::new(7);
        for ratio in [0.0, 0.1, 0.5, 1.0] {
            let sampler = Sampler { ratio, parent_based: true };
            let count = (0..10_000).filter(|&n| sampler.samples(&ids.trace(n), None)).count();
            assert!((count as f64 / 10_000.0 - ratio).abs() < 0.02, "{count} for {ratio}");
        }
    }
}
