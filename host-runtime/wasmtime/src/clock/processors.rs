//! How many processors there are for the guests and for us.

/// How many threads can run at once: processors, as far as affinity and cgroups let this process have them.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}
