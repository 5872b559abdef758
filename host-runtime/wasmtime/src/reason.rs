//! Why a call failed.

use kperf_abi::word::Reason;
use wasmtime::{Error, Trap};

/// What to close the frames of a failed call with: a trap, the end of the program (WASI's `proc_exit`, with the feature
/// `wasi`), or anything else that the host did: an error from a host function, an exception that nobody caught.
pub fn reason_of(error: &Error) -> Reason {
    #[cfg(feature = "wasi")]
    if error.downcast_ref::<wasmtime_wasi::I32Exit>().is_some() {
        return Reason::Exit;
    }
    if error.downcast_ref::<Trap>().is_some() { Reason::Trap } else { Reason::Host }
}
