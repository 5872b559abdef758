//! Runs a script once, with its modules as they are or rewritten.

use super::inlined::{CallCounts, Recording};
use super::outcome::{End, NO_INSTANCE, Outcome, PANICKED};
use super::probes::{self, Probes};
use super::script::{Action, Encoded, Execute, Expected, Step};
use super::{spectest, values};
use kperf_rewriter::{Leaf, Options, rewrite};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wasmparser::{Validator, WasmFeatures};
use wasmtime::{Engine, Extern, Instance, Linker, Module, Store, Val};

/// Counts of what was done beside the steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// How many modules with functions of their own got probes.
    pub(crate) rewritten: u64,
    pub(crate) functions: u64,
    pub(crate) entered: u64,
    pub(crate) left: u64,
    pub(crate) unwound: u64,
    pub(crate) abandoned: u64,
}

impl Work {
    pub(crate) fn add(&mut self, other: &Work) {
        self.rewritten += other.rewritten;
        self.functions += other.functions;
        self.entered += other.entered;
        self.left += other.left;
        self.unwound += other.unwound;
        self.abandoned += other.abandoned;
    }
}

/// Which modules run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modules {
    Original,
    /// `imports`: calls of imported functions have probes too.
    Rewritten {
        imports: bool,
    },
    /// Modules with their recorder inside.
    Inlined(Leaf),
    /// Modules with the recorder of a profile inside.
    Profiled,
}

/// Runs all steps in a store of their own.
pub(crate) fn run(engine: &Engine, modules: Modules, steps: &[Step<'_>]) -> (Vec<Outcome>, Work, CallCounts) {
    let mut store = Store::new(engine, Probes::default());
    let mut linker = Linker::new(engine);
    linker.allow_shadowing(true);
    spectest::link(&mut store, &mut linker).expect("spectest is defined once");
    probes::link(&mut linker).expect("the probes are defined once");
    let is_inside = matches!(modules, Modules::Inlined(_) | Modules::Profiled);
    let is_profile = modules == Modules::Profiled;
    let inlined = is_inside.then(|| Recording::begin(engine, &mut store, &mut linker, is_profile));
    let mut side = Side {
        modules,
        store,
        linker,
        inlined,
        defined: HashMap::new(),
        instances: HashMap::new(),
        work: Work::default(),
    };
    let outcomes = steps.iter().map(|step| side.step(step)).collect();
    let probes = side.store.data();
    let work = Work {
        entered: probes.entered,
        left: probes.left,
        unwound: probes.unwound,
        abandoned: probes.abandoned,
        ..side.work
    };
    let calls = std::mem::take(&mut side.store.data_mut().calls);
    let Side { store, inlined, .. } = side;
    drop(store);
    (outcomes, work, inlined.map_or(calls, Recording::calls))
}

struct Side {
    modules: Modules,
    store: Store<Probes>,
    linker: Linker<Probes>,
    inlined: Option<Recording>,
    /// Modules by name; the last one without a name.
    defined: HashMap<Option<String>, Module>,
    /// Instances by name; the current one without a name.
    instances: HashMap<Option<String>, Instance>,
    work: Work,
}

impl Side {
    fn step(&mut self, step: &Step<'_>) -> Outcome {
        match &step.action {
            Action::Module { name, wasm } => {
                self.instances.remove(&None);
                let end = self.compile(wasm, true).and_then(|module| self.instantiate(*name, &module));
                self.outcome(end.map_or_else(|end| end, |()| End::Returned(Vec::new())), &Expected::End)
            }
            Action::Define { name, wasm } => {
                let end = match self.compile(wasm, true) {
                    Ok(module) => {
                        self.defined.insert(None, module.clone());
                        self.defined.insert(name.map(str::to_owned), module);
                        End::Returned(Vec::new())
                    }
                    Err(end) => end,
                };
                self.outcome(end, &Expected::End)
            }
            Action::Instance { name, of } => {
                let module = self.defined.get(&of.map(str::to_owned)).cloned();
                let end = match module.ok_or_else(|| End::Failed("the module isn't there".into())) {
                    Ok(module) => self.instantiate(*name, &module),
                    Err(end) => Err(end),
                };
                self.outcome(end.map_or_else(|end| end, |()| End::Returned(Vec::new())), &Expected::End)
            }
            Action::Register { name, instance } => {
                let end = match self.instance(*instance) {
                    Ok(instance) => match self.linker.instance(&mut self.store, name, instance) {
                        Ok(_) => End::Returned(Vec::new()),
                        Err(error) => End::failed(&error),
                    },
                    Err(end) => end,
                };
                self.outcome(end, &Expected::End)
            }
            Action::Assert { what, expected } => {
                let end = self.execute(what).unwrap_or_else(|end| end);
                self.outcome(end, expected)
            }
            Action::Refused { wasm } => {
                // None of its functions will run, whether the rewriter refuses the module or gives ids to its functions.
                let ids = self.store.data().ids;
                let compiled = self.compile(wasm, false);
                self.store.data_mut().ids = ids;
                let text = match compiled {
                    Ok(_) => "accepted",
                    Err(End::Failed(text)) if text.starts_with(PANICKED) => &text.clone(),
                    Err(_) => "refused",
                };
                Outcome { passed: text == "refused", text: text.to_owned() }
            }
            Action::Unknown { what } => {
                Outcome { passed: false, text: format!("`{what}` is none of this runner's directives") }
            }
        }
    }

    fn execute(&mut self, what: &Execute<'_>) -> Result<End, End> {
        match what {
            Execute::Invoke { instance, export, arguments } => {
                let no_export = || End::Failed(format!("no function `{export}`"));
                let instance = self.instance(*instance)?;
                let function = instance.get_func(&mut self.store, export).ok_or_else(no_export)?;
                let arguments: Vec<Val> = arguments
                    .iter()
                    .map(|argument| values::argument(&mut self.store, argument))
                    .collect::<wasmtime::Result<_>>()
                    .map_err(|error| End::Failed(error.to_string()))?;
                let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
                let called = self.guarded(|store, _| function.call(store, &arguments, &mut results));
                self.balanced(called.is_err())?;
                called.map_err(|error| End::of(&error, &mut self.store))?;
                Ok(End::Returned(results))
            }
            Execute::Get { instance, global } => {
                let instance = self.instance(*instance)?;
                match instance.get_export(&mut self.store, global) {
                    Some(Extern::Global(global)) => Ok(End::Returned(vec![global.get(&mut self.store)])),
                    _ => Err(End::Failed(format!("no global `{global}`"))),
                }
            }
            Execute::Module { wasm } => {
                let module = self.compile(wasm, true)?;
                let instantiated = self.guarded(|store, linker| linker.instantiate(store, &module));
                self.balanced(instantiated.is_err())?;
                instantiated.map_err(|error| End::of(&error, &mut self.store))?;
                Ok(End::Returned(Vec::new()))
            }
        }
    }

    fn instance(&self, name: Option<&str>) -> Result<Instance, End> {
        let instance = self.instances.get(&name.map(str::to_owned)).copied();
        instance.ok_or_else(|| End::Failed(NO_INSTANCE.into()))
    }

    /// Makes this the current instance.
    fn instantiate(&mut self, name: Option<&str>, module: &Module) -> Result<(), End> {
        let instantiated = self.guarded(|store, linker| linker.instantiate(store, module));
        self.balanced(instantiated.is_err())?;
        let instance = instantiated.map_err(|error| End::of(&error, &mut self.store))?;
        self.instances.insert(None, instance);
        self.instances.insert(name.map(str::to_owned), instance);
        Ok(())
    }

    /// `valid` is what the script says about the module. If a validator with all proposals agrees, it must also accept the
    /// rewritten module, even if wasmtime doesn't know the proposals.
    fn compile(&mut self, wasm: &Encoded, valid: bool) -> Result<Module, End> {
        let original = wasm.as_ref().map_err(|error| End::Failed(format!("text: {error}")))?;
        let rewritten = match self.modules {
            Modules::Original => None,
            Modules::Rewritten { .. } | Modules::Inlined(_) | Modules::Profiled => {
                let imports = self.modules == Modules::Rewritten { imports: true };
                let recording = match self.modules {
                    Modules::Inlined(leaf) => kperf_rewriter::Recording::inline_with(leaf),
                    Modules::Profiled => kperf_rewriter::Recording::Profile { spans: true },
                    _ => kperf_rewriter::Recording::imported(),
                };
                let mut validator = Validator::new_with_features(WasmFeatures::all());
                let validate = valid && validator.validate_all(original).is_ok();
                let id_base = self.store.data().ids;
                let options = Options { recording, imports, id_base, validate, ..Options::default() };
                Some(self.rewrite(original, &options)?)
            }
        };
        Module::new(self.store.engine(), rewritten.as_deref().unwrap_or(original))
            .map_err(|error| End::failed(&error))
    }

    fn rewrite(&mut self, wasm: &[u8], options: &Options) -> Result<Vec<u8>, End> {
        let rewritten = catch_unwind(AssertUnwindSafe(|| rewrite(wasm, options)))
            .map_err(|_| End::Failed(PANICKED.into()))?
            .map_err(|error| End::Failed(format!("the rewriter: {error}")))?;
        let probed = rewritten.symbols.symbols.len() as u64;
        self.work.rewritten += u64::from(probed > 0);
        self.work.functions += probed;
        self.store.data_mut().ids += probed as u32;
        Ok(rewritten.wasm)
    }

    fn outcome(&mut self, end: End, expected: &Expected<'_>) -> Outcome {
        end.outcome(expected, &mut self.store)
    }

    fn guarded<R>(
        &mut self,
        call: impl FnOnce(&mut Store<Probes>, &Linker<Probes>) -> wasmtime::Result<R>,
    ) -> wasmtime::Result<R> {
        let Side { store, linker, inlined, .. } = self;
        match inlined {
            Some(inlined) => inlined.call(store, |store| call(store, linker)),
            None => call(store, linker),
        }
    }

    fn balanced(&mut self, failed: bool) -> Result<(), End> {
        let inlined = self.inlined.as_ref();
        let fault = inlined.and_then(|inlined| inlined.end_of_call(&mut self.store, failed));
        match self.store.data_mut().end_of_call(failed).or(fault) {
            Some(fault) => Err(End::Failed(format!("unbalanced: {fault}"))),
            None => Ok(()),
        }
    }
}
