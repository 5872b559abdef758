//! Why a call failed.

use kperf_abi::word::Reason;
use wasmtime::{Error, Trap};

/// The reason with which the frames of a failed call are closed: the guest trapped; the guest ended the program (WASI's
/// `proc_exit`, with the feature `wasi`); otherwise the host ended the call, by an error from a host function or an uncaught
/// exception.
pub fn reason_of(error: &Error) -> Reason {
    #[cfg(feature = "wasi")]
    if error.downcast_ref::<wasmtime_wasi::I32Exit>().is_some() {
        return Reason::Exit;
    }
    if error.downcast_ref::<Trap>().is_some() { Reason::Trap } else { Reason::Host }
}
