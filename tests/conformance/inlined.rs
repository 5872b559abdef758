//! Records modules that contain their recorder, of a trace or of a profile.

use super::probes::Probes;
use kperf_profile::{Profile, is_pause};
use kperf_trace::TraceReader;
use kperf_wasmtime::{ClockChoice, Inlined, Reason, Recorder};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use wasmtime::{Engine, Linker, Store};

/// How often each function was entered, by id.
pub(crate) type CallCounts = BTreeMap<u32, u64>;

pub(crate) struct Recording {
    recorder: Recorder,
    lanes: Inlined,
    trace: Trace,
    is_profile: bool,
}

#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<u8>>>);

impl Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Recording {
    pub(crate) fn begin(
        engine: &Engine,
        store: &mut Store<Probes>,
        linker: &mut Linker<Probes>,
        is_profile: bool,
    ) -> Recording {
        let trace = Trace::default();
        let builder = Recorder::builder().clock(ClockChoice::Test).sink(trace.clone());
        let recorder = builder.build(engine).unwrap();
        let lanes = recorder.link_inlined(store, linker).unwrap();
        Recording { recorder, lanes, trace, is_profile }
    }

    /// Calls the guest. Only a profile's stack learns here how the call ended; [`end_of_call`](Recording::end_of_call) checks
    /// traces first.
    pub(crate) fn call<R>(
        &self,
        store: &mut Store<Probes>,
        call: impl FnOnce(&mut Store<Probes>) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        if self.is_profile { self.lanes.call(store, call) } else { call(store) }
    }

    /// Ends a call of the host. Returns what was wrong in it, if anything.
    pub(crate) fn end_of_call(&self, store: &mut Store<Probes>, failed: bool) -> Option<String> {
        let lanes = self.lanes.lanes();
        let mut fault = None;
        for lane in &lanes {
            let depth = lane.depth(&mut *store);
            if failed {
                lane.close(&mut *store, Reason::Trap, 0);
            } else if lanes.len() > 1 {
                // Another instance may have caught what passed through this one, which only the host can say.
                lane.close(&mut *store, Reason::Caught, 0);
            } else if depth != 0 {
                fault = Some(format!("depth {depth} behind a call that returned, with a recorder inside"));
            }
        }
        fault
    }

    /// The counts of the whole recording.
    pub(crate) fn calls(self) -> CallCounts {
        self.recorder.finish("completed").unwrap();
        let bytes = std::mem::take(&mut *self.trace.0.lock().unwrap());
        let profile = Profile::read(TraceReader::new(&bytes[..]).unwrap(), |_| ()).unwrap();
        assert_eq!(profile.health.warnings(), Vec::<String>::new());
        let mut calls = CallCounts::new();
        for (_, node) in profile.tree.iter().filter(|(_, node)| node.calls > 0 && !is_pause(node.func)) {
            *calls.entry(node.func.0).or_default() += node.calls;
        }
        calls
    }
}
