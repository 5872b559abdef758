//! Components: the host that they run in, and which of their functions is called.

use super::module::Prepared;
use super::program::{Probes, Program};
use super::wasi::WasiArgs;
use super::wave;
use crate::output;
use anyhow::{Context, bail};
use kperf_abi::names::COMPONENT_HOST;
use kperf_rewriter::Records;
use kperf_wasi::State;
use kperf_wasmtime::{RecordedStore, Recorder};
use std::path::Path;
use wasmparser::{ComponentExternalKind, Parser, Payload, Validator, WasmFeatures};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Accessor, Component, Func, Instance, Linker, Val};
use wasmtime::{AsContextMut, Engine, Store};
use wasmtime_wasi::{I32Exit, p2, p3};

/// What a command exports, without its version.
const RUN: &str = "wasi:cli/run";
/// What `run` supplies: all that these packages have in WASI 0.2 and 0.3.
const SUPPLIED: [&str; 6] =
    ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];
/// And with --http.
const HTTP: &str = "wasi:http/";
/// How many names an error lists.
const MOST: usize = 20;

/// A component that is ready to run.
pub struct ComponentProgram {
    engine: Engine,
    component: Component,
    linker: Linker<State>,
    store: Option<AnyStore>,
    entry: Entry,
    records: Option<Records>,
    /// Whether its tasks may run beside each other ([`is_concurrent`]).
    concurrent: bool,
}

enum AnyStore {
    Plain(Store<State>),
    Recorded(RecordedStore<State>),
}

/// What is called.
enum Entry {
    /// `wasi:cli/run` of WASI 0.2.
    Command,
    /// The same of WASI 0.3.
    ConcurrentCommand,
    /// A function of the component, or of an instance that it exports, with arguments in WAVE.
    Function { instance: Option<String>, name: String, args: Vec<Val>, results: usize },
}

impl ComponentProgram {
    /// Compiles a component, and finds what to call.
    pub fn new(
        engine: Engine,
        prepared: &Prepared,
        path: &Path,
        wasi: &WasiArgs,
        args: &[String],
        invoke: Option<&str>,
    ) -> anyhow::Result<ComponentProgram> {
        let component = Component::new(&engine, &prepared.wasm)
            .map_err(anyhow::Error::from)
            .with_context(|| format!("failed to compile `{}`", path.display()))?;
        let entry = Entry::find(&component, &engine, invoke, args, path)?;
        let args = if invoke.is_some() { &[] } else { args };
        let state = State::new(wasi.builder(path, args)?.build());
        let concurrent = is_concurrent(&prepared.wasm);
        let linker = match concurrent {
            true => kperf_wasi::async_linker(&engine, true, false)?,
            false => kperf_wasi::sync_linker(&engine)?,
        };
        let store = Some(AnyStore::Plain(Store::new(&engine, state)));
        let records = kperf_rewriter::component_records(&prepared.wasm);
        Ok(ComponentProgram { engine, component, linker, store, entry, records, concurrent })
    }
}

/// Whether a component needs what WASI 0.3 brings: asynchronous functions, streams, futures. (Others are called faster without.)
pub fn is_concurrent(wasm: &[u8]) -> bool {
    let plain = WasmFeatures::all() - WasmFeatures::CM_ASYNC;
    let is_valid = |features| Validator::new_with_features(features).validate_all(wasm).is_ok();
    !is_valid(plain) && is_valid(WasmFeatures::all())
}

/// Whether a name is that of something in WASI 0.2 or 0.3, of one of these packages.
fn is_of(package: &str, name: &str) -> bool {
    let version = name.split_once('@').map_or("", |(_, version)| version);
    let is_release = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    name.starts_with(package) && is_release && (version.starts_with("0.2.") || version.starts_with("0.3."))
}

/// Fails if a component imports what nobody supplies, and lists it. One that can't be read passes: the rewriter reports it.
/// `answers`: whether it answers HTTP requests, and may make some.
pub fn check_imports(wasm: &[u8], path: &Path, answers: bool) -> anyhow::Result<()> {
    let mut missing = Vec::new();
    let mut nested = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload {
            Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => nested += 1,
            Ok(Payload::End(_)) if nested > 0 => nested -= 1,
            Ok(Payload::ComponentImportSection(imports)) if nested == 0 => {
                for import in imports.into_iter().flatten() {
                    let name = import.name.name;
                    let is_supplied = name == COMPONENT_HOST
                        || SUPPLIED.iter().any(|package| is_of(package, name))
                        || answers && is_of(HTTP, name);
                    if !is_supplied && import.ty.kind() != ComponentExternalKind::Type {
                        missing.push(format!("`{name}`"));
                    }
                }
            }
            Err(_) => break,
            Ok(_) => {}
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let needs_http = !answers && missing.iter().any(|name| name.starts_with("`wasi:http/"));
    bail!(
        "`{}` imports what `run` doesn't supply: {}{}; `run` has WASI 0.2 and 0.3{}. For a host of your own, add probes with `rewrite`",
        path.display(),
        missing[..missing.len().min(MOST)].join(", "),
        if missing.len() > MOST { format!(" and {} more", missing.len() - MOST) } else { String::new() },
        if needs_http { ", and `wasi:http` with --http ADDRESS" } else { "" },
    )
}

impl Entry {
    fn find(
        component: &Component,
        engine: &Engine,
        invoke: Option<&str>,
        args: &[String],
        path: &Path,
    ) -> anyhow::Result<Entry> {
        let exports = exports(component, engine);
        let list = || {
            let names: Vec<String> = exports.iter().map(|export| format!("`{}`", export.full())).collect();
            match names.len() {
                0 => "no functions".to_owned(),
                count if count > MOST => format!("{} and {} more", names[..MOST].join(", "), count - MOST),
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
            Some(_) => bail!("--invoke has arguments in parentheses; leave the others out"),
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

    fn probes(&self) -> Probes {
        Probes {
            are_there: self.records.is_some(),
            profile: self.records == Some(Records::Profile),
            ..Probes::default()
        }
    }

    fn link(&mut self, recorder: &Recorder, _: &Prepared) -> anyhow::Result<()> {
        if self.records.is_some() {
            recorder.add_to_component_linker(&mut self.linker, |state: &mut State| &mut state.lanes)?;
        }
        if let Some(AnyStore::Plain(store)) = self.store.take() {
            let store = recorder.component_store(store, |state| &mut state.lanes)?;
            self.store = Some(AnyStore::Recorded(store));
        }
        Ok(())
    }

    fn run(&mut self) -> wasmtime::Result<()> {
        let Self { component, linker, store, entry, concurrent, .. } = self;
        if *concurrent {
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
    store: &mut impl AsContextMut<Data = State>,
    component: &Component,
    linker: &Linker<State>,
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
    store: &mut impl AsContextMut<Data = State>,
    component: &Component,
    linker: &Linker<State>,
    entry: &Entry,
) -> wasmtime::Result<()> {
    match entry {
        Entry::Command => {
            let command = p2::bindings::Command::instantiate_async(&mut *store, component, linker).await?;
            ended(command.wasi_cli_run().call_run(&mut *store).await?)
        }
        Entry::ConcurrentCommand => {
            let command = p3::bindings::Command::instantiate_async(&mut *store, component, linker).await?;
            let run = async |accessor: &Accessor<State>| command.wasi_cli_run().call_run(accessor).await;
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

/// What came of a command.
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
