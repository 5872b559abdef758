//! Memories and globals that aren't there. A recorder inside the module has the first index behind the module's own: what
//! was invalid by that must not come to name it.

use crate::Error;
use crate::parse::ModuleInfo;
use wasmparser::{DataKind, DataSectionReader, MemArgTarget, Operator};

/// What is wrong where an index is not one of the module's.
const MEMORY: &str = "a memory that isn't there";
const GLOBAL: &str = "a global that isn't there";

/// Refuses the index of a field of this name, if it is one of a memory or a global.
macro_rules! check_field {
    ($info:ident, $offset:ident, memarg, $value:ident) => {
        if let MemArgTarget::Memory(index) = $value.target {
            check_memory($info, index, $offset)?;
        }
    };
    ($info:ident, $offset:ident, mem, $value:ident) => {
        check_memory($info, *$value, $offset)?
    };
    ($info:ident, $offset:ident, dst_mem, $value:ident) => {
        check_memory($info, *$value, $offset)?
    };
    ($info:ident, $offset:ident, src_mem, $value:ident) => {
        check_memory($info, *$value, $offset)?
    };
    ($info:ident, $offset:ident, global_index, $value:ident) => {
        check_global($info, *$value, $offset)?
    };
    ($info:ident, $offset:ident, $other:ident, $value:ident) => {{
        let _ = $value;
    }};
}

macro_rules! define_check {
    ($( @$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*) )*) => {
        /// Refuses an instruction that names a memory or a global that isn't there.
        pub(crate) fn check(info: &ModuleInfo<'_>, operator: &Operator<'_>, offset: u64) -> Result<(), Error> {
            match operator {
                $( Operator::$op $({ $($arg),* })? => { $( $( check_field!(info, offset, $arg, $arg); )* )? } )*
                _ => {}
            }
            Ok(())
        }
    };
}
wasmparser::for_each_operator!(define_check);

/// Refuses data for a memory that isn't there, or at the place that a global says that isn't.
pub(crate) fn check_data(info: &ModuleInfo<'_>, section: DataSectionReader<'_>) -> Result<(), Error> {
    for data in section {
        let data = data?;
        if let DataKind::Active { memory_index, offset_expr } = data.kind {
            let offset = data.range.start;
            check_memory(info, memory_index, offset)?;
            let mut operators = offset_expr.get_operators_reader();
            while !operators.eof() {
                check(info, &operators.read()?, offset)?;
            }
        }
    }
    Ok(())
}

fn check_memory(info: &ModuleInfo<'_>, index: u32, offset: u64) -> Result<(), Error> {
    if index < info.memories { Ok(()) } else { Err(Error::malformed(offset, MEMORY)) }
}

fn check_global(info: &ModuleInfo<'_>, index: u32, offset: u64) -> Result<(), Error> {
    if index < info.globals { Ok(()) } else { Err(Error::malformed(offset, GLOBAL)) }
}
