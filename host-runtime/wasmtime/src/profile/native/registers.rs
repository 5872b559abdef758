//! Where a thread was when it was interrupted.
#![allow(unsafe_code)] // What is read is the process's own code, by address.

use super::code::FunctionAt;

/// Where a thread was interrupted.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    pub(super) pc: u64,
    pub(super) sp: u64,
    pub(super) fp: u64,
}

/// `ret`, without and with a number of bytes of arguments.
const RETURNS: [u8; 2] = [0xc3, 0xc2];

impl Registers {
    pub(super) fn of(context: &libc::ucontext_t) -> Registers {
        let [pc, sp, fp] = [libc::REG_RIP, libc::REG_RSP, libc::REG_RBP]
            .map(|register| context.uc_mcontext.gregs[register as usize] as u64);
        Registers { pc, sp, fp }
    }

    /// For a guest's function before it has made its frame, or after it has removed it: how many words above the stack pointer
    /// its return address is.
    pub(super) fn frameless(&self, place: FunctionAt) -> Option<u64> {
        // A function begins with `push rbp`, one byte, and `mov rbp, rsp`.
        match self.pc - place.begin as u64 {
            0 => Some(0),
            1 => Some(1),
            // SAFETY: that instruction is about to run.
            _ => RETURNS.contains(&unsafe { *(self.pc as *const u8) }).then_some(0),
        }
    }
}
