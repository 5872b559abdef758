//! A host that calls back into its guest whenever it is called, and goes on when that fails. The guest gets its functions in every
//! possible way: as imports, arguments, results, in tables and in globals.

use super::record::{Names, Open, Strict};
use kperf_abi::names::{self, EXPORT_PREFIX, exported};
use kperf_abi::shadow::{self, Slot};
use wasmtime::{
    AsContextMut, Caller, Extern, ExternType, Func, FuncType, HeapType, Instance, Linker, Module, Ref, Store,
    StoreLimits, Val, ValType,
};

/// How deep the host and the guest call each other at most, and how often in all.
const DEPTH: u32 = 3;
const CALLBACKS: u64 = 60;

/// How many of the functions that the guest passes the host keeps.
const GIVEN: usize = 8;

/// The data of a store.
pub(crate) struct Data {
    pub(crate) strict: Strict,
    pub(crate) seen: Seen,
    pub(crate) limits: StoreLimits,
    pub(crate) overflowed: bool,
    /// Whether the host may call a guest's function that is, or ends in, a function of the host.
    pub(crate) ends_in_host: bool,
    pub(crate) random: fastrand::Rng,
    pub(crate) instance: Option<Instance>,
    /// The types of the guest's functions that the host can see.
    pub(crate) types: Vec<FuncType>,
    pub(crate) names: Names,
    /// Functions that the guest passed as arguments.
    given: Vec<Func>,
    depth: u32,
}

/// What the host has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The open calls, each time the host was called.
    pub(crate) open: Vec<Open>,
    /// How often it called back, and how often that failed.
    pub(crate) callbacks: u64,
    pub(crate) caught: u64,
}

impl Data {
    pub(crate) fn new(seed: u64, limits: StoreLimits, names: Names) -> Data {
        Data {
            strict: Strict::default(),
            seen: Seen::default(),
            limits,
            overflowed: false,
            ends_in_host: false,
            random: fastrand::Rng::with_seed(seed),
            instance: None,
            types: Vec::new(),
            names,
            given: Vec::new(),
            depth: 0,
        }
    }
}

/// Notes the types of functions that the host can make, in an order that doesn't depend on probes.
pub(crate) fn note_types(store: &mut Store<Data>, module: &Module) {
    let imports = module.imports().filter(|import| !is_ours(import.module()));
    let exports = module.exports().filter(|export| !export.name().starts_with(EXPORT_PREFIX));
    let types = imports.map(|import| import.ty()).chain(exports.map(|export| export.ty()));
    let types = types.filter_map(|ty| match ty {
        ExternType::Func(ty) => Some(ty),
        _ => None,
    });
    store.data_mut().types = types.collect();
}

pub(crate) fn is_ours(module: &str) -> bool {
    [names::MODULE, names::HOST_MODULE].contains(&module)
}

/// Defines all functions that a module imports.
pub(crate) fn define(
    store: &mut Store<Data>,
    linker: &mut Linker<Data>,
    module: &Module,
) -> wasmtime::Result<()> {
    for import in module.imports().filter(|import| !is_ours(import.module())) {
        if let ExternType::Func(ty) = import.ty()
            && linker.get(&mut *store, import.module(), import.name()).is_err()
        {
            let function = function(&mut *store, ty);
            linker.define(&mut *store, import.module(), import.name(), function)?;
        }
    }
    Ok(())
}

/// Puts functions of the host into exported tables and globals.
pub(crate) fn intrude(store: &mut Store<Data>, instance: Instance) {
    let exports: Vec<Extern> = instance
        .exports(&mut *store)
        .filter(|export| !export.name().starts_with(EXPORT_PREFIX))
        .map(|export| export.into_extern())
        .collect();
    for export in exports {
        match export {
            Extern::Global(global) => {
                let ty = global.ty(&*store);
                if let Some(value @ Val::FuncRef(Some(_))) = value(&mut *store, ty.content()) {
                    // An immutable global stays.
                    let _ = global.set(&mut *store, value);
                }
            }
            Extern::Table(table) => {
                let ty = table.ty(&*store);
                for at in 0..table.size(&*store).min(6) {
                    if let Some(Val::FuncRef(Some(function))) =
                        value(&mut *store, &ValType::Ref(ty.element().clone()))
                        && at % 2 == 0
                    {
                        let _ = table.set(&mut *store, at, Ref::Func(Some(function)));
                    }
                }
            }
            _ => {}
        }
    }
}

/// A value of this type: a function of the host if possible. `None` if there is no such value.
pub(crate) fn value(mut store: impl AsContextMut<Data = Data>, ty: &ValType) -> Option<Val> {
    let ValType::Ref(reference) = ty else { return ty.default_value() };
    let signature = match reference.heap_type() {
        HeapType::Func => {
            let mut store = store.as_context_mut();
            let data = store.data_mut();
            let at = data.random.usize(..data.types.len().max(1));
            data.types.get(at).cloned()
        }
        HeapType::ConcreteFunc(ty) => Some(ty.clone()),
        _ => None,
    };
    match signature {
        Some(ty) => Some(Val::FuncRef(Some(function(store, ty)))),
        None => ty.default_value(),
    }
}

/// A function of the host: it notes which calls are open, and calls back.
fn function(mut store: impl AsContextMut<Data = Data>, ty: FuncType) -> Func {
    let results_of = ty.clone();
    Func::new(&mut store, ty, move |mut caller: Caller<'_, Data>, arguments, results| {
        look(&mut caller);
        let given = arguments.iter().filter_map(|argument| match argument {
            Val::FuncRef(function) => *function,
            _ => None,
        });
        let known = &mut caller.data_mut().given;
        known.extend(given);
        known.truncate(GIVEN);
        call_back(&mut caller);
        for (result, ty) in results.iter_mut().zip(results_of.results()) {
            match value(&mut caller, &ty) {
                Some(value) => *result = value,
                None => return Err(wasmtime::Error::msg("no value of this type")),
            }
        }
        match caller.data_mut().random.u32(..16) {
            0 => Err(wasmtime::Error::msg("the host fails")),
            _ => Ok(()),
        }
    })
}

fn look(caller: &mut Caller<'_, Data>) {
    let open = shadow_of(caller).unwrap_or_else(|| caller.data().strict.open.clone());
    caller.data_mut().seen.open.push(open);
}

/// The open calls on the shadow stack of a module that makes a profile.
fn shadow_of(caller: &mut Caller<'_, Data>) -> Option<Open> {
    caller.get_export(&exported(names::STATE_TOP))?;
    let Some(Extern::SharedMemory(memory)) = caller.get_export(&exported(names::MEMORY)) else { return None };
    let names = &caller.data().names;
    let slots = memory.data()[shadow::STACK..=shadow::LAST].chunks(8).map(|cells| {
        // SAFETY: the guest waits for this call.
        #[allow(unsafe_code)]
        let byte = |cell: &std::cell::UnsafeCell<u8>| unsafe { *cell.get() };
        let bytes: Vec<u8> = cells.iter().map(byte).collect();
        Slot(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    });
    Some(slots.map_while(Slot::func).map(|id| names[id.0 as usize].clone()).collect())
}

/// Calls exports until one fails. The failure is caught.
fn call_back(caller: &mut Caller<'_, Data>) {
    let data = caller.data_mut();
    let Some(instance) = data.instance else { return };
    if data.depth >= DEPTH || data.seen.callbacks >= CALLBACKS {
        return;
    }
    data.depth += 1;
    // What it calls may end in a function like this one, which has caught something: only the guest that called this one can
    // close that, so nothing may be called before.
    let most = if data.ends_in_host { 2 } else { 3 };
    for _ in 0..caller.data_mut().random.u32(1..most) {
        let exports = functions(&mut *caller, instance);
        let exports = exports.into_iter().map(|(_, function)| function);
        let data = caller.data_mut();
        let known: Vec<Func> = exports.chain(data.given.iter().copied()).collect();
        if known.is_empty() {
            break;
        }
        let at = data.random.usize(..known.len());
        data.seen.callbacks += 1;
        if matches!(call(&mut *caller, known[at]), Some(Err(_))) {
            caller.data_mut().seen.caught += 1;
            break;
        }
    }
    caller.data_mut().depth -= 1;
}

/// The functions that an instance exports, by name.
pub(crate) fn functions(
    mut store: impl AsContextMut<Data = Data>,
    instance: Instance,
) -> Vec<(String, Func)> {
    let mut store = store.as_context_mut();
    let exports: Vec<_> = instance
        .exports(&mut store)
        .filter(|export| !export.name().starts_with(EXPORT_PREFIX))
        .map(|export| (export.name().to_owned(), export.into_extern()))
        .collect();
    exports.into_iter().filter_map(|(name, export)| Some((name, export.into_func()?))).collect()
}

/// Calls a function. Returns `None` if there are no arguments for it.
pub(crate) fn call(
    mut store: impl AsContextMut<Data = Data>,
    function: Func,
) -> Option<wasmtime::Result<Vec<Val>>> {
    let ty = function.ty(store.as_context());
    let arguments = ty.params().map(|ty| value(&mut store, &ty)).collect::<Option<Vec<_>>>()?;
    let mut results = vec![Val::I32(0); ty.results().len()];
    let called = function.call(&mut store, &arguments, &mut results);
    let overflow = |error: &wasmtime::Error| {
        error.downcast_ref::<wasmtime::Trap>() == Some(&wasmtime::Trap::StackOverflow)
    };
    if called.as_ref().is_err_and(overflow) {
        store.as_context_mut().data_mut().overflowed = true;
    }
    let _ = store.as_context_mut().take_pending_exception();
    Some(called.map(|()| results))
}
