//! Walks the frames of a thread, the host's as well as the guest's.
//!
//! The guest's functions always keep frame pointers: wasmtime needs them for its backtraces. For the host's functions the
//! process's `.eh_frame` says how to unwind them; framehop reads it.
#![allow(unsafe_code)] // What is read is the process's own code and stack, by address.

use super::registers::Registers;
use super::target::Target;
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, Module, MustNotAllocateDuringUnwind,
    UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use kperf_abi::shadow::Slot;
use std::ops::Range;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

type Unwinder = UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>;

/// How to unwind the host's functions.
static UNWINDER: LazyLock<Mutex<Unwinder>> = LazyLock::new(|| Mutex::new(Unwinder::new()));

fn unwinder() -> MutexGuard<'static, Unwinder> {
    UNWINDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads anew which executables and libraries are in the process.
pub(super) fn find_objects() {
    let mut found = Unwinder::new();
    // SAFETY: the callback gets this pointer, and only the callback uses it during the call.
    unsafe { libc::dl_iterate_phdr(Some(add_object), (&raw mut found).cast()) };
    *unwinder() = found;
}

unsafe extern "C" fn add_object(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    unwinder: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader describes an object in memory, and `dlpi_phnum` is the number of its program
    // headers.
    let (info, headers) = unsafe {
        let info = &*info;
        (info, std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()))
    };
    // SAFETY: it is what `find_objects` gave.
    let unwinder = unsafe { &mut *unwinder.cast::<Unwinder>() };
    // SAFETY: these are the object's headers.
    if let Some(module) = unsafe { module(info.dlpi_addr, headers) } {
        unwinder.add_module(module);
    }
    0
}

/// The only encoding that linkers use for the address of `.eh_frame`: a signed distance of four bytes from here.
const HEADER: [u8; 2] = [1, 0x1b];

/// How an object's functions are unwound, according to itself. `None` if it doesn't say.
///
/// # Safety
///
/// The headers must be those of an object that lies at `base` and stays there.
unsafe fn module(base: u64, headers: &[libc::Elf64_Phdr]) -> Option<Module<&'static [u8]>> {
    let range = |header: &libc::Elf64_Phdr| header.p_vaddr..header.p_vaddr.saturating_add(header.p_memsz);
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(range);
    let index = range(headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?);
    // SAFETY: loaded parts of objects are in memory.
    let bytes = |range: &Range<u64>| unsafe {
        let begin = base.wrapping_add(range.start) as *const u8;
        std::slice::from_raw_parts::<'static>(begin, (range.end - range.start) as usize)
    };
    let eh_frame_hdr = bytes(&index);
    let (head, distance) = (eh_frame_hdr.first_chunk()?, eh_frame_hdr.get(4..8)?.first_chunk()?);
    if *head != HEADER {
        return None;
    }
    let begin = (index.start + 4).checked_add_signed(i32::from_le_bytes(*distance).into())?;
    let eh_frame = begin..loaded().find(|range| range.contains(&begin))?.end;
    let all = loaded().reduce(|all, part| all.start.min(part.start)..all.end.max(part.end))?;
    let sections = ExplicitModuleSectionInfo {
        eh_frame: Some(bytes(&eh_frame)),
        eh_frame_svma: Some(eh_frame),
        eh_frame_hdr: Some(eh_frame_hdr),
        eh_frame_hdr_svma: Some(index),
        ..ExplicitModuleSectionInfo::default()
    };
    let range = base.wrapping_add(all.start)..base.wrapping_add(all.end);
    Some(Module::new(String::new(), range, base, sections))
}

/// The unwinder of one thread.
pub(super) struct Unwinding {
    unwinder: Unwinder,
    /// Unwinding rules that were found before.
    cache: CacheNative<MustNotAllocateDuringUnwind>,
}

impl Unwinding {
    /// With the objects that were found last.
    pub(super) fn new() -> Unwinding {
        Unwinding { unwinder: unwinder().clone(), cache: CacheNative::new_in() }
    }

    /// Passes the open calls of the running thread, which was interrupted at `at`, to `found`, innermost first, each with its
    /// address, until `found` returns false. Returns whether it reached the outermost call, or at least one. Takes no lock and
    /// allocates nothing.
    pub(super) fn walk(
        &mut self,
        registers: Registers,
        target: &Target,
        found: &mut dyn FnMut(Slot, usize) -> bool,
    ) -> bool {
        let stack = registers.sp..target.thread.stack().end as u64;
        let mut read = |address: u64| {
            let is_there = stack.contains(&address) && stack.end - address >= 8;
            // SAFETY: between the stack pointer and the stack's end is the stack.
            is_there.then(|| unsafe { (address as *const u64).read_unaligned() }).ok_or(())
        };
        if !target.thread.stack().contains(&(registers.sp as usize)) {
            return false;
        }
        let mut any = false;
        let mut push = |address: u64| {
            let id = target.code.at(address as usize).and_then(|place| place.id);
            let Some(count) = id.and_then(|id| target.counts.of(id)) else { return true };
            any = true;
            id.is_none_or(|id| found(Slot(count << 32 | u64::from(id.0 + 1)), address as usize))
        };
        let Registers { mut pc, mut sp, fp } = registers;
        if let Some(place) = target.code.at(pc as usize)
            && let Some(words) = registers.frameless(place)
        {
            push(pc);
            let at = sp + 8 * words;
            let Ok(return_address) = read(at) else { return any };
            (pc, sp) = (return_address, at + 8);
        }
        let mut frames =
            self.unwinder.iter_frames(pc, UnwindRegsNative::new(pc, sp, fp), &mut self.cache, &mut read);
        loop {
            match frames.next() {
                // Of the first: a return address too, or an instruction's.
                Ok(Some(frame)) if !push(frame.address_for_lookup()) => return false,
                Ok(Some(FrameAddress::InstructionPointer(_) | FrameAddress::ReturnAddress(_))) => {}
                Ok(None) => return true,
                // The host's outermost functions may have no rule for unwinding; the guest's all have.
                Err(_) => return any,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    /// `push rbp` and `mov rbp, rsp`, before all else: the check of the stack's limit too.
    const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];

    #[test]
    fn every_function_begins_with_its_frame() {
        let text = r#"(module (memory 1)
            (func $leaf (param i32) (result i32) (i32.load (local.get 0)))
            (func $large (param i32 i64 f64 i32 i64 f64 i32 i64) (result i32 i64 f64)
              (drop (call $large (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
                (call $leaf (local.get 6)) (local.get 7)))
              (drop) (drop) (local.get 0) (local.get 1) (local.get 2))
            (func (export "f") (return_call $loops (i32.const 7)))
            (func $loops (param i32)
              (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"#;
        let mut config = wasmtime::Config::new();
        config.wasm_tail_call(true);
        let engine = wasmtime::Engine::new(&config).expect("an engine");
        let bytes = wat::parse_str(text).expect("the text parses");
        let module = wasmtime::Module::new(&engine, bytes).expect("it compiles");
        assert_eq!(module.functions().count(), 4);
        for function in module.functions() {
            let code = module.text().get(function.offset..function.offset + function.len).unwrap_or_default();
            assert!(code.starts_with(&PROLOGUE), "{:?}: {:x?}", function.name, code.get(..16));
        }
    }
}
