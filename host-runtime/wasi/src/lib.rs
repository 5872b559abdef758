//! What a guest of `kperf-wasm run` gets of WASI: what its store has, and linkers with the functions.
//!
//! A crate of its own, because the compiler makes some 400 functions of each kind of store: half of what the command was compiled from. Here that
//! goes on beside other crates, with less optimization, and isn't done again when the command changes.

use kperf_wasmtime::ComponentLanes;
use wasmtime::component::{self, ResourceTable};
use wasmtime::{Engine, Linker, Result};
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView, p1, p2, p3};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// What a store has for its component.
pub struct State {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
    /// The recording's side of the store.
    pub lanes: ComponentLanes,
}

impl State {
    /// A component sees what `wasi` gives.
    pub fn new(wasi: WasiCtx) -> State {
        State {
            wasi,
            http: WasiHttpCtx::new(),
            table: ResourceTable::new(),
            lanes: ComponentLanes::default(),
        }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: Default::default() }
    }
}

/// A linker with preview 1, for modules.
pub fn module_linker(engine: &Engine) -> Result<Linker<WasiP1Ctx>> {
    let mut linker = Linker::new(engine);
    p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;
    Ok(linker)
}

/// A linker with WASI 0.2, for components whose calls aren't async.
pub fn sync_linker(engine: &Engine) -> Result<component::Linker<State>> {
    let mut linker = component::Linker::new(engine);
    p2::add_to_linker_sync(&mut linker)?;
    Ok(linker)
}

/// A linker with WASI 0.2 for async calls, with 0.3 if the component is `concurrent`, and with `wasi:http` if it answers requests.
pub fn async_linker(engine: &Engine, concurrent: bool, http: bool) -> Result<component::Linker<State>> {
    let mut linker = component::Linker::new(engine);
    p2::add_to_linker_async(&mut linker)?;
    if http {
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    }
    if concurrent {
        p3::add_to_linker(&mut linker)?;
        if http {
            wasmtime_wasi_http::p3::add_to_linker(&mut linker)?;
        }
    }
    Ok(linker)
}
