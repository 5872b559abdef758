//! Why a call failed.

use kperf_abi::word::Reason;
use wasmtime::{Error, Trap};

/// The reason for which to close the frames of a failed call: the guest trapped; the guest ended the program (WASI's
/// `proc_exit`, with the feature `wasi`); or else the host ended the call, by an error from a host function or an exception
/// that nobody caught.
pub fn reason_of(error: &Error) -> Reason {
    #[cfg(feature = "wasi")]
    if error.downcast_ref::<wasmtime_wasi::I32Exit>().is_some() {
        return Reason::Exit;
    }
    if error.downcast_ref::<Trap>().is_some() { Reason::Trap } else { Reason::Host }
}
