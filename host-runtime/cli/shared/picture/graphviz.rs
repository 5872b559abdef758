//! The built-in Graphviz: a WebAssembly module, which runs under wasmtime as guests do.
//!
//! `graphviz.wasm.zst` is the module of the package `@viz-js/viz` 3.31.0 (MIT), which is Graphviz 16.1.0 (EPL) built by
//! Emscripten; `README.md` beside it says how it was taken from there. It imports 25 functions, but needs only those that
//! grow its memory and take its errors.

use anyhow::{Context, bail};
use wasmtime::{
    Cache, Caller, Config, Engine, Extern, Func, Instance, Memory, Module, Store, TypedFunc, Val, ValType,
};

/// zstd, 362 kB.
const MODULE: &[u8] = include_bytes!("graphviz.wasm.zst");
/// The module's length when it is unpacked.
const MODULE_BYTES: usize = 1_004_108;

/// The module's names, which the compiler has shortened. They hold for this release of the package only.
mod names {
    pub(super) const MODULE: &str = "a";
    pub(super) const MEMORY: &str = "z";
    pub(super) const INITIALIZE: &str = "A";
    pub(super) const MALLOC: &str = "F";
    pub(super) const READ_GRAPH: &str = "I";
    pub(super) const CREATE_CONTEXT: &str = "V";
    pub(super) const LAYOUT: &str = "X";
    pub(super) const RENDER: &str = "_";
    /// The imports that it calls to end itself.
    pub(super) const FATAL: [&str; 4] = ["a", "b", "c", "h"];
    pub(super) const GROW_MEMORY: &str = "k";
    pub(super) const WRITE: &str = "d";
    pub(super) const ERROR: &str = "p";
}

/// From this length on, in bytes, a graph's text is worth optimised code. It has some hundred boxes.
const LARGE: usize = 60_000;

/// WASI's `badf`, the answer to every use of a file.
const BAD_FILE: i32 = 8;

/// Lays a graph out as a hierarchy and draws it as SVG.
pub(super) fn svg(dot: &str) -> anyhow::Result<String> {
    let wasm = zstd::bulk::decompress(MODULE, MODULE_BYTES).context("the module can't be unpacked")?;
    let mut config = Config::new();
    // A small graph is laid out sooner if the compiler doesn't optimise.
    let level = if dot.len() < LARGE { wasmtime::OptLevel::None } else { wasmtime::OptLevel::Speed };
    config.cranelift_opt_level(level).max_wasm_stack(4 << 20).async_stack_size(8 << 20);
    // The second picture is drawn sooner. Without a home folder the module is compiled each time.
    config.cache(Cache::from_file(None).ok());
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, &wasm)?;
    let mut store = Store::new(&engine, Vec::new());
    let imports: Vec<Extern> = module
        .imports()
        .map(|import| match import.ty().func() {
            Some(ty) if import.module() == names::MODULE => {
                Ok(host_function(&mut store, import.name().to_owned(), ty.clone()).into())
            }
            _ => bail!("it wants `{}`, which isn't known", import.name()),
        })
        .collect::<anyhow::Result<_>>()?;
    let instance = Instance::new(&mut store, &module, &imports)?;
    let result = draw(&mut store, &instance, dot);
    let output = String::from_utf8_lossy(store.data()).trim().to_owned();
    match result {
        Ok(Some(svg)) => Ok(svg),
        Ok(None) => bail!("it says: {output}"),
        Err(error) if output.is_empty() => Err(error),
        Err(error) => Err(error.context(format!("it says: {output}"))),
    }
}

/// Returns `None` if Graphviz failed and wrote why.
fn draw(store: &mut Store<Vec<u8>>, instance: &Instance, dot: &str) -> anyhow::Result<Option<String>> {
    let memory = instance.get_memory(&mut *store, names::MEMORY).context("it has no memory")?;
    function::<(), ()>(store, instance, names::INITIALIZE)?.call(&mut *store, ())?;
    let dot = put(store, instance, memory, dot)?;
    let graph = function::<i32, i32>(store, instance, names::READ_GRAPH)?.call(&mut *store, dot)?;
    if graph == 0 {
        return Ok(None);
    }
    let context = function::<(), i32>(store, instance, names::CREATE_CONTEXT)?.call(&mut *store, ())?;
    let engine = put(store, instance, memory, "dot")?;
    let layout = function::<(i32, i32, i32), i32>(store, instance, names::LAYOUT)?;
    if layout.call(&mut *store, (context, graph, engine))? != 0 {
        return Ok(None);
    }
    let format = put(store, instance, memory, "svg")?;
    let render = function::<(i32, i32, i32), i32>(store, instance, names::RENDER)?;
    match render.call(&mut *store, (context, graph, format))? {
        0 => Ok(None),
        text => Ok(Some(String::from_utf8(text_at(memory.data(&*store), text).to_vec())?)),
    }
}

fn function<P: wasmtime::WasmParams, R: wasmtime::WasmResults>(
    store: &mut Store<Vec<u8>>,
    instance: &Instance,
    name: &str,
) -> anyhow::Result<TypedFunc<P, R>> {
    Ok(instance.get_typed_func(&mut *store, name)?)
}

/// Puts a text and a zero into the module's memory. Nothing is freed, since the store is dropped soon.
fn put(store: &mut Store<Vec<u8>>, instance: &Instance, memory: Memory, text: &str) -> anyhow::Result<i32> {
    let bytes = [text.as_bytes(), b"\0"].concat();
    let malloc = function::<i32, i32>(store, instance, names::MALLOC)?;
    let at = malloc.call(&mut *store, i32::try_from(bytes.len()).context("the graph is too large")?)?;
    if at == 0 {
        bail!("it is out of memory");
    }
    memory.write(&mut *store, at as u32 as usize, &bytes)?;
    Ok(at)
}

/// The text up to a zero.
fn text_at(memory: &[u8], at: i32) -> &[u8] {
    let rest = memory.get(at as u32 as usize..).unwrap_or_default();
    rest.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// A function that the module imports. What the module writes is added to the store's bytes.
fn host_function(store: &mut Store<Vec<u8>>, name: String, ty: wasmtime::FuncType) -> Func {
    let result = ty.results().next();
    Func::new(store, ty, move |mut caller, params, results| {
        let param = |n: usize| params.get(n).and_then(Val::i32).unwrap_or(0);
        let memory = caller.get_export(names::MEMORY).and_then(Extern::into_memory);
        let answer = match (name.as_str(), memory) {
            (fatal, _) if names::FATAL.contains(&fatal) => {
                return Err(wasmtime::Error::msg("it gave up"));
            }
            (names::GROW_MEMORY, Some(memory)) => i32::from(grow(&mut caller, memory, param(0))),
            (names::WRITE, Some(memory)) => write(&mut caller, memory, [param(1), param(2), param(3)]),
            (names::ERROR, Some(memory)) => {
                let text = text_at(memory.data(&caller), param(0)).to_vec();
                caller.data_mut().extend(text);
                0
            }
            // The module works without files, a clock and an environment.
            _ => BAD_FILE,
        };
        if let (Some(place), Some(ty)) = (results.first_mut(), &result) {
            *place = match ty {
                ValType::I64 => Val::I64(0),
                ValType::F64 => Val::F64(0),
                _ => Val::I32(answer),
            };
        }
        Ok(())
    })
}

/// Grows the memory to `bytes`. Returns whether that worked.
fn grow(caller: &mut Caller<'_, Vec<u8>>, memory: Memory, bytes: i32) -> bool {
    let wanted = u64::from(bytes as u32).div_ceil(1 << 16);
    let more = wanted.saturating_sub(memory.size(&*caller));
    memory.grow(&mut *caller, more).is_ok()
}

/// `fd_write`, the same for every file descriptor.
fn write(caller: &mut Caller<'_, Vec<u8>>, memory: Memory, [pieces, count, written]: [i32; 3]) -> i32 {
    let (data, output) = memory.data_and_store_mut(&mut *caller);
    let word = |data: &[u8], at: usize| -> Option<usize> {
        Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?) as usize)
    };
    let mut sum = 0;
    for piece in 0..(count as u32 as usize).min(1024) {
        let at = pieces as u32 as usize + 8 * piece;
        let (Some(start), Some(length)) = (word(data, at), word(data, at + 4)) else { return BAD_FILE };
        let Some(bytes) = data.get(start..start.saturating_add(length)) else { return BAD_FILE };
        output.extend(bytes);
        sum += length as u32;
    }
    match data.get_mut(written as u32 as usize..).and_then(|rest| rest.first_chunk_mut()) {
        Some(place) => *place = sum.to_le_bytes(),
        None => return BAD_FILE,
    }
    0
}
