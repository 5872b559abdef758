//! Finds the instructions with which a thread waits: `memory.atomic.wait32` and `memory.atomic.wait64`.
//!
//! - A wait on a memory that isn't shared traps, so it needs no probe.
//! - Functions that are shared between threads keep theirs: they may call only shared functions.

use crate::error::Error;
use crate::module::info::ModuleInfo;
use rayon::prelude::*;
use std::collections::BTreeSet;
use wasm_encoder::{Instruction, MemArg, MemArgTarget};
use wasmparser::{Operator, ValType};

/// An instruction that waits, with its memory and its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wait {
    width: Width,
    memory: u32,
    offset: u64,
    align: u8,
}

/// The width of the value that it compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    I32,
    I64,
}

impl Wait {
    /// The wait of an operator, if it is one on a shared memory.
    pub(crate) fn of(info: &ModuleInfo<'_>, operator: &Operator<'_>) -> Option<Wait> {
        let (width, memarg) = match operator {
            Operator::MemoryAtomicWait32 { memarg } => (Width::I32, memarg),
            Operator::MemoryAtomicWait64 { memarg } => (Width::I64, memarg),
            _ => return None,
        };
        let wasmparser::MemArgTarget::Memory(memory) = memarg.target else { return None };
        let is_shared = info.memory_types.get(memory as usize)?.shared && memarg.ordering.is_none();
        is_shared.then_some(Wait { width, memory, offset: memarg.offset, align: memarg.align })
    }

    /// The types of its operands: the address, the value, the time in nanoseconds.
    pub(crate) fn params(self, info: &ModuleInfo<'_>) -> [ValType; 3] {
        let address = if info.wide_memories.contains(&self.memory) { ValType::I64 } else { ValType::I32 };
        let value = match self.width {
            Width::I32 => ValType::I32,
            Width::I64 => ValType::I64,
        };
        [address, value, ValType::I64]
    }

    /// Its name in the text format.
    pub(crate) fn name(self) -> &'static str {
        match self.width {
            Width::I32 => "memory.atomic.wait32",
            Width::I64 => "memory.atomic.wait64",
        }
    }

    /// The instruction itself.
    pub(crate) fn instruction(self) -> Instruction<'static> {
        let (offset, align) = (self.offset, self.align.into());
        let memarg = MemArg { offset, align, target: MemArgTarget::Memory(self.memory), ordering: None };
        match self.width {
            Width::I32 => Instruction::MemoryAtomicWait32(memarg),
            Width::I64 => Instruction::MemoryAtomicWait64(memarg),
        }
    }
}

/// Finds the different ones of a module. Without a shared memory it reads no body.
pub(crate) fn find(info: &ModuleInfo<'_>) -> Result<BTreeSet<Wait>, Error> {
    if !info.memory_types.iter().any(|memory| memory.shared) {
        return Ok(BTreeSet::new());
    }
    let bodies = info.bodies.par_iter().enumerate().filter(|(n, _)| !info.is_shared(info.defined(*n)));
    bodies
        .map(|(_, &place)| {
            let mut waits = BTreeSet::new();
            for operator in info.body(place).get_operators_reader()? {
                waits.extend(Wait::of(info, &operator?));
            }
            Ok(waits)
        })
        .try_reduce(BTreeSet::new, |mut all, more| {
            all.extend(more);
            Ok(all)
        })
}
