//! Finds the operators that grow a memory or create garbage-collected objects.

use crate::error::{Error, ErrorKind};
use crate::module::info::ModuleInfo;
use kperf_abi::FuncIndex;
use wasmparser::{FunctionBody, Operator};

/// Code before an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// Keeps the number on the stack: pages by which a memory grows, or an array's length.
    Keep { wide: bool },
    /// Records that a memory was to grow by the kept number; its result is on the stack.
    Grew { memory: u32, wide: bool },
    /// Records an object of this many bytes.
    Created(u64),
    /// Records an array with elements of this many bytes.
    CreatedArray(u64),
}

/// Code by the offset of the operator after it, in order.
pub(crate) type Growth = Vec<(u64, Put)>;

/// Finds them.
pub(crate) fn find(
    info: &ModuleInfo<'_>,
    index: FuncIndex,
    body: &FunctionBody<'_>,
) -> Result<Growth, Error> {
    let mut growth = Growth::new();
    let mut reader = body.get_operators_reader()?;
    let mut end = reader.original_position();
    while !reader.eof() {
        let start = end;
        let operator = reader.read()?;
        end = reader.original_position();
        let size = |ty: u32| info.types.get(ty as usize).and_then(|ty| ty.object_size).unwrap_or(0);
        match operator {
            Operator::MemoryGrow { mem } => {
                // Pages of another size would count as 64 KiB.
                if info.memory_types.get(mem as usize).is_some_and(|memory| memory.page_size_log2.is_some()) {
                    continue;
                }
                let wide = info.wide_memories.contains(&mem);
                growth.extend([(start, Put::Keep { wide }), (end, Put::Grew { memory: mem, wide })]);
            }
            Operator::StructNew { struct_type_index: ty }
            | Operator::StructNewDefault { struct_type_index: ty } => {
                growth.push((end, Put::Created(size(ty))));
            }
            Operator::ArrayNewFixed { array_type_index: ty, array_size } => {
                growth.push((end, Put::Created(size(ty).saturating_mul(array_size.into()))));
            }
            Operator::ArrayNew { array_type_index: ty }
            | Operator::ArrayNewDefault { array_type_index: ty }
            | Operator::ArrayNewData { array_type_index: ty, .. }
            | Operator::ArrayNewElem { array_type_index: ty, .. } => {
                growth.extend([(start, Put::Keep { wide: false }), (end, Put::CreatedArray(size(ty)))]);
            }
            _ => continue,
        }
        if info.is_shared(index) {
            let what = "an allocation in a function that is shared between threads".to_owned();
            return Err(ErrorKind::Unsupported { what, offset: start }.into());
        }
    }
    Ok(growth)
}
