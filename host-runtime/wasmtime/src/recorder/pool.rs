//! What probes need of a pool of instances.

use kperf_abi::shadow;
use wasmtime::PoolingAllocationConfig;

/// What the instances of a pool contain. All are upper limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolProbes {
    /// The functions with a probe in one module.
    pub functions: u32,
    /// The components with core modules inside one component, itself included: each has a recorder. 0 if no component has probes.
    pub recorders: u32,
}

impl Default for PoolProbes {
    /// 65,536 functions; components of one.
    fn default() -> PoolProbes {
        PoolProbes { functions: 1 << 16, recorders: 1 }
    }
}

/// What an instance of a recorder takes of its module's or component's context, in bytes: functions, globals, a memory.
const CONTEXT: usize = 4 << 10;
/// What a count in a global takes.
const GLOBAL: usize = 16;
/// The core instances of a recorder in a component: the recorder, its memory, the functions around lifted functions.
const CORE_INSTANCES: u32 = 3;

/// Raises the limits.
pub(super) fn raise(pool: &mut PoolingAllocationConfig, probes: PoolProbes) {
    let PoolProbes { functions, recorders } = probes;
    let components = pool.get_total_component_instances().saturating_mul(recorders);
    let modules = pool.get_total_core_instances();
    let counts = GLOBAL.saturating_mul(functions as usize);
    let memory = shadow::pages(functions) as usize * 65536;
    let (more, larger) = (u32::saturating_add, usize::saturating_add);
    pool.total_core_instances(more(modules, components.saturating_mul(CORE_INSTANCES)));
    pool.total_memories(more(more(pool.get_total_memories(), modules), components));
    pool.max_memories_per_module(more(pool.get_max_memories_per_module(), 1));
    pool.max_memory_size(pool.get_max_memory_size().max(memory));
    pool.max_core_instance_size(larger(pool.get_max_core_instance_size(), larger(CONTEXT, counts)));
    let (instances, contexts) =
        (CORE_INSTANCES.saturating_mul(recorders), CONTEXT.saturating_mul(recorders as usize));
    pool.max_core_instances_per_component(more(pool.get_max_core_instances_per_component(), instances));
    pool.max_memories_per_component(more(pool.get_max_memories_per_component(), recorders));
    pool.max_component_instance_size(larger(pool.get_max_component_instance_size(), contexts));
}
