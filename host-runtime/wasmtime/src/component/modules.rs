//! Defines the imports of modules that make a profile in a `RecordedStore`.

use crate::error::Result;
use crate::link::module::failed;
use crate::recording::Recording;
use kperf_abi::names;
use std::sync::Arc;
use wasmtime::{AsContextMut, Caller, Linker};

/// Defines what the recorders inside modules import that make a profile.
pub(crate) fn define<T: 'static>(recording: &Arc<Recording>, linker: &mut Linker<T>) -> Result<()> {
    let recording = recording.clone();
    let flush = move |mut caller: Caller<'_, T>, _address: u32, _length: u32| {
        recording.check_process()?;
        let Some(store) = recording.stores.find(&caller.as_context_mut()) else { return Ok(()) };
        let inner = store.inner();
        if !inner.records() {
            return Ok(());
        }
        let parent = inner.parent.clone();
        drop(inner);
        store.modules.instances().announced(&mut caller, &store.guards, parent.as_ref())
    };
    linker.func_wrap(names::HOST_MODULE, names::HOST_FLUSH, flush).map_err(failed)?;
    Ok(())
}
