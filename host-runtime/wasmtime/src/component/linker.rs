//! Defines the imports of components' recorders.
#![allow(unsafe_code)] // A component's memory can't be reached in another way by other threads.

use super::lanes::NO_RECORDER;
use crate::error::{ErrorKind, Result};
use crate::lanes::state::RecorderState;
use crate::link::module::failed;
use crate::recording::Recording;
use kperf_abi::block::{CLOCK_OFF, MEMORY_PAGES};
use kperf_abi::names::{
    COMPONENT_HOST, HOST_ATTACH, HOST_ATTACH_COUNTING, HOST_ATTACH_PROFILE, HOST_FLUSH, HOST_NOW,
};
use std::ptr::NonNull;
use std::sync::Arc;
use wasmtime::component::{Linker, WasmList};
use wasmtime::{Engine, Memory, MemoryType, Store, StoreContextMut};

/// The minimal alignment of a memory's first byte, in bytes.
const HOST_PAGE: usize = 4096;
/// The maximal number of pages of a memory with 32-bit addresses.
const MOST_PAGES: u64 = 1 << 16;
/// The lane number of a recorder that records nothing.
const NO_LANE: u32 = u32::MAX;

/// Defines what the recorders of components import.
pub(crate) fn define<T: 'static>(recording: &Arc<Recording>, linker: &mut Linker<T>) -> Result<()> {
    if !memories_stay(&recording.engine)? {
        return Err(ErrorKind::MemoriesMove.into());
    }
    let mut host = linker.instance(COMPONENT_HOST).map_err(failed)?;
    let outlet = recording.outlet.clone();
    host.func_wrap(HOST_NOW, move |_: StoreContextMut<'_, T>, ()| Ok((outlet.asked(),))).map_err(failed)?;
    for (name, counts) in [(HOST_ATTACH, false), (HOST_ATTACH_COUNTING, true)] {
        let recording = recording.clone();
        let attach = move |store: StoreContextMut<'_, T>, (memory,): (WasmList<u8>,)| {
            let shared = recording.stores.find(&store);
            let bytes = memory.as_le_slice(&store);
            if bytes.len() != MEMORY_PAGES as usize * 65536 {
                return Err(wasmtime::Error::msg(NO_RECORDER));
            }
            let address = recorder_at(bytes)?;
            let lane = shared.map(|shared| shared.attach(address, counts)).transpose()?.flatten();
            if lane.is_none() {
                // SAFETY: the memory is at least as long, and the guest waits for us.
                unsafe { address.as_ptr().cast::<u64>().write_unaligned(CLOCK_OFF.to_le()) };
            }
            Ok((lane.unwrap_or(NO_LANE),))
        };
        host.func_wrap(name, attach).map_err(failed)?;
    }
    let of_profile = recording.clone();
    let attach = move |store: StoreContextMut<'_, T>,
                       (memory, first, functions): (WasmList<u8>, u32, u32)| {
        let Some(shared) = of_profile.stores.find(&store) else { return Ok(()) };
        let bytes = memory.as_le_slice(&store);
        shared.attach_profile(recorder_at(bytes)?, bytes.len(), first, functions)
    };
    host.func_wrap(HOST_ATTACH_PROFILE, attach).map_err(failed)?;
    type Flushed = (u32, u32, u64, u64, WasmList<u8>);
    let recording = recording.clone();
    let flush = move |store: StoreContextMut<'_, T>, (lane, depth, last, lost, block): Flushed| {
        let Some(shared) = recording.stores.find(&store) else { return Ok(()) };
        let state = RecorderState { depth, last, ..RecorderState::default() };
        shared.flush(lane, state, lost, block.as_le_slice(&store))
    };
    host.func_wrap(HOST_FLUSH, flush).map_err(failed)
}

/// The address of a recorder's memory, which it has passed whole.
fn recorder_at(bytes: &[u8]) -> wasmtime::Result<NonNull<u8>> {
    // wasmtime itself gives the address to compiled code, which writes there.
    let address = std::ptr::with_exposed_provenance_mut::<u8>(bytes.as_ptr().expose_provenance());
    // A recorder attaches its memory from its beginning, and a memory begins at a page of the host.
    NonNull::new(address)
        .filter(|address| address.addr().get().is_multiple_of(HOST_PAGE))
        .ok_or_else(|| wasmtime::Error::msg(NO_RECORDER))
}

/// Whether memories of this engine keep their address when they grow. A recorder's memory can't grow, but any component may claim
/// that its memory is one, and we keep the address.
fn memories_stay(engine: &Engine) -> Result<bool> {
    let mut store = Store::new(engine, ());
    let memory = Memory::new(&mut store, MemoryType::new(MEMORY_PAGES, None)).map_err(failed)?;
    let address = memory.data_ptr(&store);
    // No page of it is touched. After this one can't grow any more, no memory can.
    let mut added = u64::from(MEMORY_PAGES);
    while memory.size(&store) < MOST_PAGES && memory.grow(&mut store, added).is_ok() {
        if memory.data_ptr(&store) != address {
            return Ok(false);
        }
        added = memory.size(&store).min(MOST_PAGES - memory.size(&store));
    }
    Ok(true)
}
