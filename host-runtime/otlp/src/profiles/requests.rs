//! A profile's requests: its paths as samples, over one dictionary for each request.

use super::dictionary::{Dictionary, Spot};
use super::options::ProfileOptions;
use crate::ids::Ids;
use crate::options::Limits;
use crate::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
use crate::proto::profiles::v1development::{Profile as Message, ResourceProfiles, Sample, ScopeProfiles};
use crate::resource::{SCHEMA_URL, resource, scope};
use crate::spans::batch::Request;
use kperf_profile::{
    CallPlaces, Frame, Heap, PathWeights, Paths, Profile, Shortened, SpanLink, Unit, link_number,
};
use prost::Message as _;

/// Gives a profile's requests to `send`, one after the other. Each is an `ExportProfilesServiceRequest`; a `ProfilesData` has the
/// same bytes. [`Request::spans`] counts profiles, as a Collector does when it rejects some. Returns how many very deep paths it cut.
///
/// # Errors
///
/// What `send` returns.
pub fn profiles<E>(
    profile: &Profile,
    options: &ProfileOptions,
    send: impl FnMut(Request) -> Result<(), E>,
) -> Result<Shortened, E> {
    profiles_with_memory(profile, None, options, send)
}

/// [`profiles`], with the allocations of each path. `heap` must have followed the calls of the same tree.
///
/// # Errors
///
/// What `send` returns.
pub fn profiles_with_memory<E>(
    profile: &Profile,
    heap: Option<&Heap>,
    options: &ProfileOptions,
    mut send: impl FnMut(Request) -> Result<(), E>,
) -> Result<Shortened, E> {
    let paths_of = |tree| Paths::new(tree, |_| LOCATION_LEN, Paths::MAX_FILE);
    let memory =
        heap.map(|heap| heap.tree(&profile.tree, |memory| (memory.allocated(), memory.allocated_bytes())));
    // It has the same nodes, and may have one more after them.
    let tree = memory.as_ref().unwrap_or(&profile.tree);
    let (paths, memory_paths) = (paths_of(&profile.tree), memory.as_ref().map(paths_of));
    let values_of = |id| {
        let PathWeights { calls, self_ticks } = match profile.tree.get(id) {
            Some(_) => paths.weights(&profile.tree, id)?,
            None => PathWeights::default(),
        };
        let memory =
            memory_paths.as_ref().map_or(Some(PathWeights::default()), |paths| paths.weights(tree, id))?;
        Some(Values { self_ticks, calls, bytes: memory.self_ticks, blocks: memory.calls })
    };
    let mut batch = Batch::new(profile, options);
    let mut codes = CallPlaces::new(&profile.symbols);
    let mut stack: Vec<Spot> = Vec::new();
    let mut result = Ok(());
    tree.walk(|id, entered| {
        let Some(node) = tree.get(id).filter(|_| result.is_ok()) else { return };
        let Some(values) = values_of(id) else { return };
        let mut give = |batch: &mut Batch<'_>, stack: &[Spot], values| {
            result = std::mem::replace(&mut result, Ok(()))
                .and_then(|()| batch.take(stack, values).map_or(Ok(()), &mut send));
        };
        match (link_number(node.func), entered) {
            (Some(number), true) => {
                batch.fall_into(profile.links.get(number).copied());
                give(&mut batch, &stack, values);
            }
            (Some(_), false) => batch.come_out(),
            (None, true) => {
                if let Some(caller) = stack.last_mut() {
                    caller.frames = codes.frames_of_call(profile, caller.func, node.func);
                }
                let mut left = values;
                for (frames, ticks) in codes.sampled(&profile.tree_places, id, node.func) {
                    let self_ticks = ticks.min(left.self_ticks);
                    left.self_ticks -= self_ticks;
                    stack.push(Spot { func: node.func, frames });
                    give(&mut batch, &stack, Values { self_ticks, ..Values::default() });
                    stack.pop();
                }
                stack.push(Spot { func: node.func, frames: vec![Frame::ANYWHERE] });
                give(&mut batch, &stack, left);
            }
            (None, false) => _ = stack.pop(),
        }
    });
    result?;
    batch.cut().map_or(Ok(()), send)?;
    Ok(paths.shortened)
}

/// The values of a path, without its callees'.
#[derive(Clone, Copy, Default)]
struct Values {
    self_ticks: u64,
    calls: u64,
    /// Allocated, as `blocks` is.
    bytes: u64,
    blocks: u64,
}

/// How many kinds of values there are.
const KINDS: usize = 4;
/// Maximal bytes of a location in a path.
const LOCATION_LEN: usize = 4;

/// A request that is being made.
struct Batch<'a> {
    profile: &'a Profile,
    options: &'a ProfileOptions,
    ids: Ids,
    dictionary: Dictionary<'a>,
    /// The spans around the next paths, innermost last.
    around: Vec<Option<SpanLink>>,
    /// Of times, calls, bytes and blocks.
    samples: [Vec<Sample>; KINDS],
    /// An upper bound of the samples' bytes.
    bytes: usize,
    /// Bytes of a request without its samples and dictionary.
    envelope: usize,
    /// Requests before this one.
    requests: u64,
}

impl<'a> Batch<'a> {
    fn new(profile: &'a Profile, options: &'a ProfileOptions) -> Batch<'a> {
        let Profile { header, symbols, .. } = profile;
        let parent = options.parent.as_ref().or(header.parent.as_ref());
        /// The scope, the schema, the types of values, ids and times of two profiles, at most.
        const FRAME: usize = 1024;
        let ids = options.seed.map_or_else(|| Ids::of(header), Ids::new);
        Batch {
            profile,
            options,
            // Another filter makes another profile of the same trace.
            ids: profile.tree.iter().fold(ids.with(profile.start_ticks), |ids, (_, node)| {
                let path = u64::from(node.parent.0) << 32 | u64::from(node.func.0);
                ids.with(path).with(node.calls).with(node.self_ticks)
            }),
            dictionary: Dictionary::new(symbols),
            around: vec![parent.map(SpanLink::from)],
            samples: Default::default(),
            bytes: 0,
            envelope: FRAME + resource(header, symbols, &options.resource).encoded_len(),
            requests: 0,
        }
    }

    /// The next paths are in this span.
    fn fall_into(&mut self, span: Option<SpanLink>) {
        self.around.push(span.or(self.around.last().copied().flatten()));
    }

    fn come_out(&mut self) {
        self.around.pop();
    }

    fn samples(&self) -> usize {
        self.samples.iter().map(Vec::len).sum()
    }

    /// Adds a path's values. If they don't fit into the current request, returns that request.
    fn take(&mut self, path: &[Spot], values: Values) -> Option<Request> {
        let Values { self_ticks, calls, bytes, blocks } = values;
        let values = [self.profile.header.nanos(self_ticks), calls, bytes, blocks];
        let count = values.iter().filter(|value| **value > 0).count();
        if count == 0 {
            return None;
        }
        let request = self.make_room(path, count);
        self.add(path, values);
        request
    }

    /// Returns the current request if this path, with the names that it adds to the dictionary, may not fit into it.
    fn make_room(&mut self, path: &[Spot], count: usize) -> Option<Request> {
        /// Tags, lengths and numbers of a sample, at most.
        const SAMPLE: usize = 32;
        /// A link, at most.
        const LINK: usize = 32;
        let Limits { bytes, spans } = self.options.limits;
        let more = count * SAMPLE + LINK + 5 * path.len();
        let room = bytes.saturating_sub(self.envelope + more);
        let names = self.dictionary.bytes_of(path);
        let count = count as u64;
        let is_full = self.samples() as u64 + count > spans.max(count)
            || self.bytes.saturating_add(self.dictionary.bytes()).saturating_add(names) > room;
        let request = if is_full { self.cut() } else { None };
        if is_full {
            // A path whose names alone are too large gets shorter names.
            self.dictionary.fit(path, room);
        }
        self.bytes += more;
        request
    }

    fn add(&mut self, stack: &[Spot], values: [u64; KINDS]) {
        let stack_index = self.dictionary.stack(stack);
        let link_index = self.dictionary.link(self.around.last().copied().flatten());
        for (samples, value) in self.samples.iter_mut().zip(values).filter(|(_, value)| *value > 0) {
            let values = vec![value.min(i64::MAX as u64) as i64];
            samples.push(Sample { stack_index, link_index, values, ..Sample::default() });
        }
    }

    /// The request; `None` if it is empty.
    fn cut(&mut self) -> Option<Request> {
        self.bytes = 0;
        if self.samples() == 0 {
            return None;
        }
        let Profile { header, symbols, .. } = self.profile;
        let from = header.unix_nanos(self.profile.start_ticks);
        // Instructions say nothing of how long it took.
        let (time, time_unix_nano, duration_nano) = match Unit::of(header) {
            Unit::Time => (("wall", "nanoseconds"), from, self.profile.wall_nanos()),
            Unit::Instructions => (("instructions", "count"), header.anchor.unix_nanos, 0),
        };
        let kinds = [time, ("calls", "count"), ("alloc_space", "bytes"), ("alloc_objects", "count")];
        let mut profiles = Vec::new();
        for (n, (samples, (name, unit))) in std::mem::take(&mut self.samples)
            .into_iter()
            .zip(kinds)
            .enumerate()
            .filter(|(_, (samples, _))| !samples.is_empty())
        {
            profiles.push(Message {
                sample_type: Some(self.dictionary.value_type(name, unit)),
                samples,
                time_unix_nano,
                duration_nano,
                // Numbers that no trace uses.
                profile_id: self.ids.trace(u64::MAX - KINDS as u64 * self.requests - n as u64).to_vec(),
                ..Message::default()
            });
        }
        let count = profiles.len() as u64;
        let scope_profiles =
            vec![ScopeProfiles { scope: Some(scope()), profiles, schema_url: SCHEMA_URL.into() }];
        let resource = Some(resource(header, symbols, &self.options.resource));
        let resource_profiles =
            vec![ResourceProfiles { resource, scope_profiles, schema_url: SCHEMA_URL.into() }];
        let dictionary = Some(self.dictionary.take());
        let body = ExportProfilesServiceRequest { resource_profiles, dictionary }.encode_to_vec();
        self.requests += 1;
        Some(Request { body, spans: count })
    }
}
