//! A running module, and everything that can be seen of it from outside.

#![allow(unsafe_code)] // A SharedMemory has no other access than by pointer.

use super::argument::argument;
use kperf_abi::names::{self, EXPORT_PREFIX, exported};
use kperf_abi::shadow;
use kperf_wasmtime::{ClockChoice, Inlined, Lane, Recorder, is_inlined, is_native};
use wasmtime::{
    Config, Engine, Extern, Instance, Linker, Module, Rooted, Store, StoreLimits, StoreLimitsBuilder, Trap,
    Val,
};

/// Everything on that wasm-smith makes and wasmtime runs.
pub(crate) fn engine() -> Engine {
    let mut config = Config::new();
    Recorder::configure(&mut config);
    config.wasm_tail_call(true).wasm_multi_memory(true).wasm_memory64(true).wasm_gc(true);
    config
        .wasm_function_references(true)
        .wasm_exceptions(true)
        .wasm_relaxed_simd(true)
        .wasm_wide_arithmetic(true)
        .wasm_custom_page_sizes(true);
    config.max_wasm_stack(256 << 10);
    Engine::new(&config).unwrap()
}

/// What answers the probes: the depth, as the recorder keeps it.
#[derive(Default)]
pub(crate) struct Depth {
    pub(crate) open: i32,
    pub(crate) events: u64,
    pub(crate) unwound: u64,
    limits: StoreLimits,
}

/// A module in a store of its own.
pub(crate) struct Side {
    pub(crate) store: Store<Depth>,
    pub(crate) instance: Result<Instance, String>,
    /// What records a module that has its recorder inside.
    inlined: Option<(Recorder, Inlined)>,
    /// The stack was too small at some time.
    pub(crate) overflowed: bool,
}

impl Side {
    /// Instantiates it, with defaults for all that it imports. If it has probes, `table` is its symbol table.
    pub(crate) fn new(engine: &Engine, module: &Module, table: &[u8]) -> Side {
        // Growing by gigabytes tells nothing more than growing by megabytes.
        let limits = StoreLimitsBuilder::new().memory_size(16 << 20).table_elements(100_000).build();
        let mut store = Store::new(engine, Depth { limits, ..Depth::default() });
        store.limiter(|depth| &mut depth.limits);
        let mut linker: Linker<Depth> = Linker::new(engine);
        let link = |linker: &mut Linker<Depth>| {
            linker.func_wrap("kperf", "enter", |mut caller: wasmtime::Caller<'_, Depth>, _id: i32| {
                let depth = caller.data_mut();
                depth.events += 1;
                depth.open += 1;
                depth.open
            })?;
            linker.func_wrap("kperf", "leave", |mut caller: wasmtime::Caller<'_, Depth>, token: i32| {
                let depth = caller.data_mut();
                assert!(0 < token && token <= depth.open, "leave({token}) at depth {}", depth.open);
                depth.events += 1;
                depth.open = token - 1;
            })?;
            linker.func_wrap("kperf", "unwind", |mut caller: wasmtime::Caller<'_, Depth>, token: i32| {
                let depth = caller.data_mut();
                assert!(0 < token && token <= depth.open, "unwind({token}) at depth {}", depth.open);
                depth.unwound += (depth.open - token) as u64;
                depth.open = token;
            })?;
            wasmtime::Result::<()>::Ok(())
        };
        link(&mut linker).unwrap();
        let inlined = is_inlined(module).then(|| {
            let builder = Recorder::builder().clock(ClockChoice::Test).sink(std::io::sink());
            let recorder = builder.build(engine).unwrap();
            if is_native(module) {
                recorder.native_code(module, table).unwrap();
            }
            let lanes = recorder.link_inlined(&mut store, &mut linker).unwrap();
            (recorder, lanes)
        });
        let defined = linker.define_unknown_imports_as_default_values(&mut store, module);
        let instance = defined.and_then(|()| match &inlined {
            Some((_, lanes)) => lanes.call(&mut store, |store| linker.instantiate(store, module)),
            None => linker.instantiate(&mut store, module),
        });
        let overflowed = matches!(&instance, Err(error) if is_overflow(error));
        let instance = instance.map_err(|error| outcome_of(&error));
        Side { store, instance, inlined, overflowed }
    }

    /// Calls an export with plain arguments; what came out, as text.
    pub(crate) fn call(&mut self, name: &str) -> Option<Result<String, String>> {
        let instance = *self.instance.as_ref().ok()?;
        let function = instance.get_func(&mut self.store, name)?;
        let ty = function.ty(&self.store);
        let arguments = ty.params().map(|ty| argument(&ty)).collect::<Option<Vec<_>>>()?;
        let mut results = vec![Val::I32(0); ty.results().len()];
        let result = match &self.inlined {
            Some((_, lanes)) => {
                lanes.call(&mut self.store, |store| function.call(store, &arguments, &mut results))
            }
            None => function.call(&mut self.store, &arguments, &mut results),
        };
        if let Err(error) = &result {
            self.overflowed |= is_overflow(error);
            // What the host does when a call of its own has failed.
            self.store.data_mut().open = 0;
        }
        // A pending exception would be thrown into the next call.
        let _ = self.store.take_pending_exception();
        Some(
            result
                .map(|()| results.iter().map(show).collect::<Vec<_>>().join(" "))
                .map_err(|error| outcome_of(&error)),
        )
    }

    fn lanes(&self) -> Vec<Lane> {
        self.inlined.as_ref().map_or_else(Vec::new, |(_, lanes)| lanes.lanes())
    }

    /// How many frames are open.
    pub(crate) fn depth(&mut self) -> u32 {
        let inside: u32 = self.lanes().iter().map(|lane| lane.depth(&mut self.store)).sum();
        inside + self.profile().map_or(0, |(slots, _)| slots) + self.store.data().open as u32
    }

    /// Of a module that makes a profile: how many slots of its stack are not free by its top, or by what is in them, and
    /// how many calls it has counted.
    fn profile(&mut self) -> Option<(u32, u64)> {
        let instance = *self.instance.as_ref().ok()?;
        instance.get_global(&mut self.store, &exported(names::STATE_FUNCTIONS))?;
        // One that only counts has no stack.
        let top = instance.get_global(&mut self.store, &exported(names::STATE_TOP));
        let top = top.map_or(Some(shadow::STACK), |top| Some(top.get(&mut self.store).i32()? as usize))?;
        let memory = instance.get_shared_memory(&mut self.store, &exported(names::MEMORY))?;
        let cells = |from: usize, to: usize| {
            // SAFETY: nobody runs, and no sampler's thread writes.
            let bytes = memory.data()[from..to].iter().map(|cell| unsafe { *cell.get() });
            let bytes: Vec<u8> = bytes.collect();
            bytes.chunks(8).map(|cell| u64::from_le_bytes(cell.try_into().unwrap())).collect::<Vec<u64>>()
        };
        let slots = cells(shadow::STACK, shadow::STACK + 4096);
        let slots = slots.iter().filter(|&&slot| shadow::Slot(slot).func().is_some()).count();
        let counts = cells(shadow::COUNTS, memory.data().len()).iter().sum();
        Some(((top - shadow::STACK) as u32 / 8 + slots as u32, counts))
    }

    /// Ends it; how many events there were.
    pub(crate) fn events(mut self) -> u64 {
        let beside = self.store.data().events + self.profile().map_or(0, |(_, counts)| 2 * counts);
        drop(self.store);
        beside + self.inlined.map_or(0, |(recorder, _)| recorder.finish("completed").unwrap().events)
    }

    /// Memories, globals and tables, as text.
    pub(crate) fn state(&mut self) -> String {
        let Ok(instance) = self.instance else { return String::new() };
        let exports: Vec<(String, Extern)> = instance
            .exports(&mut self.store)
            .filter(|export| !export.name().starts_with(EXPORT_PREFIX))
            .map(|export| (export.name().to_owned(), export.into_extern()))
            .collect();
        let mut text = String::new();
        for (name, export) in exports {
            match export {
                Extern::Memory(memory) => {
                    let data = memory.data(&self.store);
                    text += &format!("{name}: {} bytes, crc {:08x}\n", data.len(), crc32fast::hash(data));
                }
                Extern::Global(global) => {
                    text += &format!("{name}: {}\n", show(&global.get(&mut self.store)))
                }
                Extern::Table(table) => {
                    let size = table.size(&self.store);
                    text += &format!("{name}: {size} elements ");
                    for at in 0..size.min(2_000) {
                        let null = table.get(&mut self.store, at).is_none_or(|element| element.is_null());
                        text.push(if null { '-' } else { 'x' });
                    }
                    text.push('\n');
                }
                _ => {}
            }
        }
        text
    }
}

fn is_overflow(error: &wasmtime::Error) -> bool {
    error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow)
}

fn outcome_of(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(trap) => format!("trap: {trap}"),
        None => error.root_cause().to_string(),
    }
}

/// A value as text; of references only whether they are null.
fn show(value: &Val) -> String {
    fn reference<T>(value: &Option<Rooted<T>>) -> String
    where
        T: wasmtime::GcRef,
    {
        if value.is_some() { "ref".into() } else { "null".into() }
    }
    match value {
        Val::FuncRef(function) => {
            if function.is_some() {
                "func".into()
            } else {
                "null".into()
            }
        }
        Val::ExternRef(value) => reference(value),
        Val::AnyRef(value) => reference(value),
        Val::ExnRef(value) => reference(value),
        other => format!("{other:?}"),
    }
}
