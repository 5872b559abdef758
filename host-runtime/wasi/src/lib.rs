//! WASI for guests of `kperf-wasm run`: the data of a store, and linkers.
//!
//! A crate of its own, because the compiler makes some 400 functions for each kind of store, half of the command's code. Here they are
//! compiled beside other crates, with less optimization, and not again when the command changes.

use wasmtime::component::{self, ResourceTable};
use wasmtime::{Engine, Linker, Result};
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView, p1, p2, p3};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

/// The data of a component's store.
pub struct StoreData {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
}

impl StoreData {
    /// A component sees what `wasi` supplies.
    pub fn new(wasi: WasiCtx) -> StoreData {
        StoreData { wasi, http: WasiHttpCtx::new(), table: ResourceTable::new() }
    }
}

impl WasiView for StoreData {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for StoreData {
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
pub fn sync_linker(engine: &Engine) -> Result<component::Linker<StoreData>> {
    let mut linker = component::Linker::new(engine);
    p2::add_to_linker_sync(&mut linker)?;
    Ok(linker)
}

/// What a linker has besides WASI 0.2.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interfaces {
    /// WASI 0.3, for concurrent components.
    pub wasi_0_3: bool,
    /// `wasi:http`, for components that answer requests.
    pub http: bool,
}

/// A linker for async calls.
pub fn async_linker(engine: &Engine, interfaces: Interfaces) -> Result<component::Linker<StoreData>> {
    let Interfaces { wasi_0_3, http } = interfaces;
    let mut linker = component::Linker::new(engine);
    p2::add_to_linker_async(&mut linker)?;
    if http {
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    }
    if wasi_0_3 {
        p3::add_to_linker(&mut linker)?;
        if http {
            wasmtime_wasi_http::p3::add_to_linker(&mut linker)?;
        }
    }
    Ok(linker)
}
