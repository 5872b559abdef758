//! The recorder's functions for a linker, written to the lane in the store's data.

use crate::error::Result;
use crate::host_lane::HostLane;
use crate::link::failed;
use kperf_abi::names;
use kperf_abi::word::Reason;
use wasmtime::{Caller, Linker};

/// Defines what the recorder module exports, by the same names.
pub(crate) fn define<T: 'static>(
    linker: &mut Linker<T>,
    lane: impl Fn(&mut T) -> &mut HostLane + Copy + Send + Sync + 'static,
) -> Result<()> {
    let define = |linker: &mut Linker<T>| -> wasmtime::Result<()> {
        linker.func_wrap(
            names::MODULE,
            names::ENTER,
            move |mut caller: Caller<'_, T>, func_id: u32| -> u32 {
                lane(caller.data_mut()).pen().enter(func_id)
            },
        )?;
        linker.func_wrap(names::MODULE, names::LEAVE, move |mut caller: Caller<'_, T>, token: u32| {
            lane(caller.data_mut()).pen().leave(token);
        })?;
        linker.func_wrap(names::MODULE, names::UNWIND, move |mut caller: Caller<'_, T>, token: u32| {
            lane(caller.data_mut()).pen().unwind(token);
        })?;
        linker.func_wrap(
            names::MODULE,
            names::CLOSE,
            move |mut caller: Caller<'_, T>, reason: u32, depth: u32| {
                let reason = Reason::ALL.get(reason as usize & 7).copied().unwrap_or(Reason::Host);
                lane(caller.data_mut()).pen().close(reason, depth);
            },
        )?;
        linker.func_wrap(names::MODULE, names::SWITCH, move |mut caller: Caller<'_, T>, stack: u32| {
            lane(caller.data_mut()).pen().switch(stack);
        })?;
        linker.func_wrap(names::MODULE, names::MARK, move |mut caller: Caller<'_, T>, value: u32| {
            lane(caller.data_mut()).pen().mark(value);
        })?;
        linker.func_wrap(names::MODULE, names::FLUSH, move |mut caller: Caller<'_, T>| {
            lane(caller.data_mut()).pen().flush();
        })?;
        linker.func_wrap(names::MODULE, names::DEPTH, move |mut caller: Caller<'_, T>| -> u32 {
            lane(caller.data_mut()).depth()
        })?;
        Ok(())
    };
    define(linker).map_err(failed)
}
