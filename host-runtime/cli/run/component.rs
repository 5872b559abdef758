//! A component that is ready to run.

use super::guest::{Guest, Kind};
use super::program::Program;
use super::wasi::WasiArgs;
use super::wave;
use crate::shared::output;
use anyhow::{Context, bail};
use kperf_abi::SymbolTable;
use kperf_abi::names::COMPONENT_HOST;
use kperf_wasi::{Interfaces, StoreData};
use kperf_wasmtime::{RecordedStore, Recorder};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Accessor, Component, Func, Instance, Linker, Val};
use wasmtime::{AsContextMut, Engine, Store};
use wasmtime_wasi::{I32Exit, p2, p3};

/// The export of a command, without its version.
const RUN: &str = "wasi:cli/run";
/// The packages of WASI 0.2 and 0.3 that `run` supplies.
const SUPPLIED: [&str; 6] =
    ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];
/// And with --http.
const HTTP: &str = "wasi:http/";
/// How many names an error lists.
const MAX_LISTED: usize = 20;

/// A component that is ready to run.
pub struct ComponentProgram {
    engine: Engine,
    component: Component,
    linker: Linker<StoreData>,
    store: Option<AnyStore>,
    entry: Entry,
    /// Whether its tasks may run beside each other.
    is_concurrent: bool,
}

enum AnyStore {
    Plain(Store<StoreData>),
    Recorded(RecordedStore<StoreData>),
}

/// The function to call.
enum Entry {
    /// `wasi:cli/run` of WASI 0.2.
    Command,
    /// The same of WASI 0.3.
    ConcurrentCommand,
    /// A function of the component, or of an instance that it exports, with arguments in WAVE.
    Function { instance: Option<String>, name: String, args: Vec<Val>, results: usize },
}

impl ComponentProgram {
    /// Compiles a component, and finds the function to call.
    pub fn new(
        engine: Engine,
        guest: &Guest,
        wasi: &WasiArgs,
        args: &[String],
        invoke: Option<&str>,
    ) -> anyhow::Result<ComponentProgram> {
        let path = &guest.path;
        let component = Component::new(&engine, &guest.wasm)
            .map_err(anyhow::Error::from)
            .with_context(|| format!("failed to compile `{}`", path.display()))?;
        let entry = Entry::find(guest, &component, &engine, invoke, args)?;
        let args = if invoke.is_some() { &[] } else { args };
        let state = StoreData::new(wasi.builder(path, args)?.build());
        let is_concurrent = guest.is_concurrent();
        let linker = match is_concurrent {
            true => kperf_wasi::async_linker(&engine, Interfaces { wasi_0_3: true, http: false })?,
            false => kperf_wasi::sync_linker(&engine)?,
        };
        let store = Some(AnyStore::Plain(Store::new(&engine, state)));
        Ok(ComponentProgram { engine, component, linker, store, entry, is_concurrent })
    }
}

/// Whether a name belongs to WASI 0.2 or 0.3, and to one of these packages.
fn is_of(package: &str, name: &str) -> bool {
    let version = name.split_once('@').map_or("", |(_, version)| version);
    let is_release = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    name.starts_with(package) && is_release && (version.starts_with("0.2.") || version.starts_with("0.3."))
}

/// Fails if a component imports what `run` doesn't supply, and lists it. `http`: whether `run` answers HTTP requests, and so supplies
/// what makes some.
pub fn check_imports(guest: &Guest, http: bool) -> anyhow::Result<()> {
    let Kind::Component { imports, .. } = &guest.kind else { return Ok(()) };
    let is_supplied = |name: &str| {
        name == COMPONENT_HOST
            || SUPPLIED.iter().any(|package| is_of(package, name))
            || http && is_of(HTTP, name)
    };
    let missing: Vec<String> =
        imports.iter().filter(|name| !is_supplied(name)).map(|name| format!("`{name}`")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let needs_http = !http && missing.iter().any(|name| name.starts_with("`wasi:http/"));
    bail!(
        "`{}` imports what `run` doesn't supply: {}{}; `run` has WASI 0.2 and 0.3{}. For a host of your own, add probes with `rewrite`",
        guest.path.display(),
        missing[..missing.len().min(MAX_LISTED)].join(", "),
        if missing.len() > MAX_LISTED {
            format!(" and {} more", missing.len() - MAX_LISTED)
        } else {
            String::new()
        },
        if needs_http { ", and `wasi:http` with --http ADDRESS" } else { "" },
    )
}

impl Entry {
    fn find(
        guest: &Guest,
        component: &Component,
        engine: &Engine,
        invoke: Option<&str>,
        args: &[String],
    ) -> anyhow::Result<Entry> {
        let path = &guest.path;
        let exports = exports(component, engine);
        let list = || {
            let names: Vec<String> = exports.iter().map(|export| format!("`{}`", export.full())).collect();
            match names.len() {
                0 => "no functions".to_owned(),
                count if count > MAX_LISTED => {
                    format!("{} and {} more", names[..MAX_LISTED].join(", "), count - MAX_LISTED)
                }
                _ => names.join(", "),
            }
        };
        let Some(invoke) = invoke else {
            let instances = exports.iter().filter(|export| export.name == "run");
            let mut commands =
                instances.filter_map(|export| export.instance.as_ref()).filter(|name| is_of(RUN, name));
            if let Some(name) = commands.next() {
                let is_concurrent = name.contains("@0.3.");
                return Ok(if is_concurrent { Entry::ConcurrentCommand } else { Entry::Command });
            }
            bail!(
                "`{}` is not a WASI command: it exports no `wasi:cli/run`. Name a function with --invoke: it exports {}",
                path.display(),
                list()
            );
        };
        let (wanted, given) = match invoke.split_once('(') {
            Some((wanted, given)) if args.is_empty() => (wanted.trim(), format!("({given}")),
            Some(_) => bail!("--invoke has arguments in parentheses; remove the others"),
            None => (invoke, format!("({})", args.join(", "))),
        };
        let mut found: Vec<&Export> = exports.iter().filter(|export| export.full() == wanted).collect();
        if found.is_empty() {
            found = exports.iter().filter(|export| export.name == wanted).collect();
        }
        match found[..] {
            [Export { instance, name, ty }] => {
                let args =
                    wave::arguments(ty, &given).with_context(|| format!("in the arguments of `{wanted}`"))?;
                let results = ty.results().len();
                Ok(Entry::Function { instance: instance.clone(), name: name.clone(), args, results })
            }
            [] => bail!("`{}` exports no function `{wanted}`; it exports {}", path.display(), list()),
            _ => bail!("`{}` exports several functions `{wanted}`; it exports {}", path.display(), list()),
        }
    }
}

/// A function that a component exports, by itself or in an instance.
struct Export {
    instance: Option<String>,
    name: String,
    ty: ComponentFunc,
}

impl Export {
    /// `demo:lib/store#get`.
    fn full(&self) -> String {
        match &self.instance {
            Some(instance) => format!("{instance}#{}", self.name),
            None => self.name.clone(),
        }
    }
}

fn exports(component: &Component, engine: &Engine) -> Vec<Export> {
    let mut found = Vec::new();
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(ty) => {
                found.push(Export { instance: None, name: name.to_owned(), ty })
            }
            ComponentItem::ComponentInstance(instance) => {
                for (function, item) in instance.exports(engine) {
                    if let ComponentItem::ComponentFunc(ty) = item.ty {
                        found.push(Export { instance: Some(name.to_owned()), name: function.to_owned(), ty });
                    }
                }
            }
            _ => {}
        }
    }
    found
}

impl Program for ComponentProgram {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn link(&mut self, recorder: &Recorder, guest: &Guest) -> anyhow::Result<()> {
        if guest.probes.is_some() {
            recorder.add_to_component_linker(&mut self.linker)?;
        }
        if let Some(AnyStore::Plain(store)) = self.store.take() {
            let store = recorder.recorded_store(store)?;
            self.store = Some(AnyStore::Recorded(store));
        }
        Ok(())
    }

    fn perf_map(&self, tables: &[SymbolTable]) -> kperf_wasmtime::Result<()> {
        let tables: Vec<_> = tables.iter().map(SymbolTable::to_bytes).collect();
        Recorder::perf_map_component(&self.component, tables.iter().map(Vec::as_slice))
    }

    fn run(&mut self) -> wasmtime::Result<()> {
        let Self { component, linker, store, entry, is_concurrent, .. } = self;
        if *is_concurrent {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            return match store {
                Some(AnyStore::Plain(store)) => runtime.block_on(call_async(store, component, linker, entry)),
                Some(AnyStore::Recorded(store)) => runtime.block_on(
                    store.call_async(async |store| call_async(store, component, linker, entry).await),
                ),
                None => Ok(()),
            };
        }
        match store {
            Some(AnyStore::Plain(store)) => call(store, component, linker, entry),
            Some(AnyStore::Recorded(store)) => store.call(|store| call(store, component, linker, entry)),
            None => Ok(()),
        }
    }
}

fn call(
    store: &mut impl AsContextMut<Data = StoreData>,
    component: &Component,
    linker: &Linker<StoreData>,
    entry: &Entry,
) -> wasmtime::Result<()> {
    match entry {
        Entry::Command | Entry::ConcurrentCommand => {
            let command = p2::bindings::sync::Command::instantiate(&mut *store, component, linker)?;
            ended(command.wasi_cli_run().call_run(&mut *store)?)
        }
        Entry::Function { instance, name, args, results } => {
            let linked = linker.instantiate(&mut *store, component)?;
            let function = function(&mut *store, &linked, instance.as_deref(), name)?;
            let mut results = vec![Val::Bool(false); *results];
            function.call(&mut *store, args, &mut results)?;
            print(&results)
        }
    }
}

/// The same where tasks may run beside each other.
async fn call_async(
    store: &mut impl AsContextMut<Data = StoreData>,
    component: &Component,
    linker: &Linker<StoreData>,
    entry: &Entry,
) -> wasmtime::Result<()> {
    match entry {
        Entry::Command => {
            let command = p2::bindings::Command::instantiate_async(&mut *store, component, linker).await?;
            ended(command.wasi_cli_run().call_run(&mut *store).await?)
        }
        Entry::ConcurrentCommand => {
            let command = p3::bindings::Command::instantiate_async(&mut *store, component, linker).await?;
            let run = async |accessor: &Accessor<StoreData>| command.wasi_cli_run().call_run(accessor).await;
            ended(store.as_context_mut().run_concurrent(run).await??)
        }
        Entry::Function { instance, name, args, results } => {
            let linked = linker.instantiate_async(&mut *store, component).await?;
            let function = function(&mut *store, &linked, instance.as_deref(), name)?;
            let mut results = vec![Val::Bool(false); *results];
            function.call_async(&mut *store, args, &mut results).await?;
            print(&results)
        }
    }
}

/// The result of a command.
fn ended(result: Result<(), ()>) -> wasmtime::Result<()> {
    result.map_err(|()| wasmtime::Error::from(I32Exit(1)))
}

fn print(results: &[Val]) -> wasmtime::Result<()> {
    let lines: String = results.iter().map(|result| wave::display(result) + "\n").collect();
    output::print(&lines).map_err(wasmtime::Error::from_anyhow)
}

fn function(
    store: &mut impl AsContextMut,
    linked: &Instance,
    instance: Option<&str>,
    name: &str,
) -> wasmtime::Result<Func> {
    let index = match instance {
        Some(instance) => linked
            .get_export_index(&mut *store, None, instance)
            .and_then(|within| linked.get_export_index(&mut *store, Some(&within), name)),
        None => linked.get_export_index(&mut *store, None, name),
    };
    let function = index.and_then(|index| linked.get_func(&mut *store, index));
    function.ok_or_else(|| wasmtime::Error::msg(format!("the component exports no function `{name}`")))
}
