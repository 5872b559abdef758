//! Where the lane of a store is.

use crate::host_lane::HostLane;
use wasmtime::AsContextMut;

/// Finds the lane of a store.
pub(crate) trait FindLane<T> {
    /// Lets `act` work on the store's lane.
    fn with<R>(&self, store: impl AsContextMut<Data = T>, act: impl FnOnce(&mut HostLane) -> R) -> R;
}

/// Lanes that stand in the stores' data, where a function of the embedder's finds them.
#[derive(Clone, Copy)]
pub(crate) struct InData<F>(pub(crate) F);

impl<T: 'static, F: Fn(&mut T) -> &mut HostLane> FindLane<T> for InData<F> {
    #[inline]
    fn with<R>(&self, mut store: impl AsContextMut<Data = T>, act: impl FnOnce(&mut HostLane) -> R) -> R {
        act(self.0(store.as_context_mut().data_mut()))
    }
}
