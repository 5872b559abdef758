//! Host functions that write to the lane of the store.

use super::host_lane::FindLane;
use super::host_lane::HostLane;
use super::module::failed;
use crate::error::Result;
use kperf_abi::names;
use kperf_abi::word::Reason;
use wasmtime::{Caller, Linker};

/// Defines the functions that the recorder module exports, by the same names.
pub(crate) fn define<T: 'static>(
    linker: &mut Linker<T>,
    lanes: impl FindLane<T> + Clone + Send + Sync + 'static,
) -> Result<()> {
    let [enter, leave, unwind, close, switch, mark, flush, depth] = std::array::from_fn(|_| lanes.clone());
    let define = |linker: &mut Linker<T>| -> wasmtime::Result<()> {
        linker.func_wrap(names::MODULE, names::ENTER, move |caller: Caller<'_, T>, func_id: u32| -> u32 {
            enter.with(caller, |lane| lane.enter(func_id))
        })?;
        linker.func_wrap(names::MODULE, names::LEAVE, move |caller: Caller<'_, T>, token: u32| {
            leave.with(caller, |lane| lane.with_pen(|pen| pen.leave(token)));
        })?;
        linker.func_wrap(names::MODULE, names::UNWIND, move |caller: Caller<'_, T>, token: u32| {
            unwind.with(caller, |lane| lane.with_pen(|pen| pen.unwind(token)));
        })?;
        linker.func_wrap(
            names::MODULE,
            names::CLOSE,
            move |caller: Caller<'_, T>, reason: u32, depth: u32| {
                let reason = Reason::ALL.get(reason as usize & 7).copied().unwrap_or(Reason::Host);
                close.with(caller, |lane| lane.with_pen(|pen| pen.close(reason, depth)));
            },
        )?;
        linker.func_wrap(names::MODULE, names::SWITCH, move |caller: Caller<'_, T>, stack: u32| {
            switch.with(caller, |lane| lane.with_pen(|pen| pen.switch(stack)));
        })?;
        linker.func_wrap(names::MODULE, names::MARK, move |caller: Caller<'_, T>, value: u32| {
            mark.with(caller, |lane| lane.with_pen(|pen| pen.mark(value)));
        })?;
        linker.func_wrap(names::MODULE, names::FLUSH, move |caller: Caller<'_, T>| {
            flush.with(caller, |lane| lane.with_pen(|pen| pen.flush()));
        })?;
        linker.func_wrap(names::MODULE, names::DEPTH, move |caller: Caller<'_, T>| -> u32 {
            depth.with(caller, HostLane::depth)
        })?;
        Ok(())
    };
    define(linker).map_err(failed)
}
