//! What records modules that have their recorder inside: a trace's, or a profile's.

use crate::probes::Probes;
use kperf_profile::Profile;
use kperf_trace::TraceReader;
use kperf_wasmtime::{ClockChoice, Inlined, Reason, Recorder};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use wasmtime::{Engine, Linker, Store};

/// How often each function was entered, by id.
pub(crate) type Calls = BTreeMap<u32, u64>;

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

    /// Calls the guest. Only a profile's stack is told here how that ended; [`end_of_call`](Recording::end_of_call) looks at
    /// those of traces before.
    pub(crate) fn call<R>(
        &self,
        store: &mut Store<Probes>,
        call: impl FnOnce(&mut Store<Probes>) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        if self.is_profile { self.lanes.call(store, call) } else { call(store) }
    }

    /// A call of the host's is over. What was out of order in it, if anything.
    pub(crate) fn end_of_call(&self, store: &mut Store<Probes>, failed: bool) -> Option<String> {
        let lanes = self.lanes.lanes();
        let mut fault = None;
        for lane in &lanes {
            let depth = lane.depth(&mut *store);
            if failed {
                lane.close(&mut *store, Reason::Trap, 0);
            } else if lanes.len() > 1 {
                // Another instance may have caught what passed through: nobody tells this one but its host.
                lane.close(&mut *store, Reason::Caught, 0);
            } else if depth != 0 {
                fault = Some(format!("depth {depth} behind a call that returned, with a recorder inside"));
            }
        }
        fault
    }

    /// What was recorded in all.
    pub(crate) fn calls(self) -> Calls {
        self.recorder.finish("completed").unwrap();
        let bytes = std::mem::take(&mut *self.trace.0.lock().unwrap());
        let profile = Profile::read(TraceReader::new(&bytes[..]).unwrap(), |_| ()).unwrap();
        assert_eq!(profile.health.warnings(), Vec::<String>::new());
        let mut calls = Calls::new();
        for (_, node) in profile.tree.iter().filter(|(_, node)| node.calls > 0) {
            *calls.entry(node.func.0).or_default() += node.calls;
        }
        calls
    }
}
