//! The needs of canonical functions: which core functions run while their component may not be left, and which
//! canonical functions run calls on several stacks.

use wasmparser::{CanonicalFunction, CanonicalOption};

/// The core functions that need a guard: `realloc` and `post-return`.
pub(super) fn guarded(function: &CanonicalFunction) -> impl Iterator<Item = u32> {
    options(function).iter().filter_map(|option| match option {
        CanonicalOption::Realloc(function) | CanonicalOption::PostReturn(function) => Some(*function),
        _ => None,
    })
}

/// The feature by which a canonical function runs a component's calls on several stacks at once, if it does. A task
/// with a callback doesn't: its functions have returned before another one begins.
pub(super) fn stacks(function: &CanonicalFunction) -> Option<&'static str> {
    match function {
        CanonicalFunction::Lift { options, .. } => {
            let has_callback = options.iter().any(|option| matches!(option, CanonicalOption::Callback(_)));
            (options.contains(&CanonicalOption::Async) && !has_callback)
                .then_some("a function that is lifted `async` and has no callback (WASI 0.3)")
        }
        CanonicalFunction::ThreadSpawnRef { .. }
        | CanonicalFunction::ThreadSpawnIndirect { .. }
        | CanonicalFunction::ThreadNewIndirect { .. } => Some("a thread of the component model (WASI 0.3)"),
        _ => None,
    }
}

/// The options of a canonical function. All variants are listed, so that a new one needs a decision.
fn options(function: &CanonicalFunction) -> &[CanonicalOption] {
    match function {
        CanonicalFunction::Lift { options, .. }
        | CanonicalFunction::Lower { options, .. }
        | CanonicalFunction::TaskReturn { options, .. }
        | CanonicalFunction::StreamRead { options, .. }
        | CanonicalFunction::StreamWrite { options, .. }
        | CanonicalFunction::FutureRead { options, .. }
        | CanonicalFunction::FutureWrite { options, .. }
        | CanonicalFunction::ErrorContextNew { options }
        | CanonicalFunction::ErrorContextDebugMessage { options } => options,
        CanonicalFunction::ResourceNew { .. }
        | CanonicalFunction::ResourceDrop { .. }
        | CanonicalFunction::ResourceRep { .. }
        | CanonicalFunction::ThreadSpawnRef { .. }
        | CanonicalFunction::ThreadSpawnIndirect { .. }
        | CanonicalFunction::ThreadAvailableParallelism
        | CanonicalFunction::BackpressureInc
        | CanonicalFunction::BackpressureDec
        | CanonicalFunction::TaskCancel
        | CanonicalFunction::ContextGet { .. }
        | CanonicalFunction::ContextSet { .. }
        | CanonicalFunction::ThreadYield
        | CanonicalFunction::SubtaskDrop
        | CanonicalFunction::SubtaskCancel { .. }
        | CanonicalFunction::StreamNew { .. }
        | CanonicalFunction::StreamForward { .. }
        | CanonicalFunction::StreamCancelRead { .. }
        | CanonicalFunction::StreamCancelWrite { .. }
        | CanonicalFunction::StreamDropReadable { .. }
        | CanonicalFunction::StreamDropWritable { .. }
        | CanonicalFunction::FutureNew { .. }
        | CanonicalFunction::FutureForward { .. }
        | CanonicalFunction::FutureCancelRead { .. }
        | CanonicalFunction::FutureCancelWrite { .. }
        | CanonicalFunction::FutureDropReadable { .. }
        | CanonicalFunction::FutureDropWritable { .. }
        | CanonicalFunction::ErrorContextDrop
        | CanonicalFunction::WaitableSetNew
        | CanonicalFunction::WaitableSetWait { .. }
        | CanonicalFunction::WaitableSetPoll { .. }
        | CanonicalFunction::WaitableSetDrop
        | CanonicalFunction::WaitableJoin
        | CanonicalFunction::ThreadIndex
        | CanonicalFunction::ThreadNewIndirect { .. }
        | CanonicalFunction::ThreadResumeLater
        | CanonicalFunction::ThreadSuspend
        | CanonicalFunction::ThreadSuspendThenResume
        | CanonicalFunction::ThreadYieldThenResume
        | CanonicalFunction::ThreadSuspendThenPromote
        | CanonicalFunction::ThreadYieldThenPromote => &[],
    }
}
