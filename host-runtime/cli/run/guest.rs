//! The guest: a module or a component, identified once.

use crate::shared::input;
use anyhow::{Context, anyhow};
use kperf_abi::SymbolTable;
use kperf_abi::names::{
    EXPORT_PREFIX, HOST_MODULE, INSTRUCTIONS, STATE_FUNCTIONS, STATE_INSTRUCTIONS, STATE_TOP,
    SYMBOLS_SECTION, TAKE, exported, is_of_probes,
};
use kperf_rewriter::Records;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use wasmparser::{
    ComponentExternalKind, CompositeInnerType, FuncType, Parser, Payload, SubType, TypeRef, Validator,
    WasmFeatures,
};

/// A module or a component, as the user gave it or with new probes.
#[derive(Clone)]
pub struct Guest {
    pub path: PathBuf,
    /// The file's name without its ending.
    pub name: String,
    pub wasm: Vec<u8>,
    /// What the user gave: new probes don't change it.
    pub kind: Kind,
    /// `None` without probes.
    pub probes: Option<Probes>,
    /// The symbol tables of the modules with probes. A module has at most one.
    pub symbols: Vec<SymbolTable>,
}

/// A module or a component.
#[derive(Clone)]
pub enum Kind {
    Module {
        has_start: bool,
        imports: Vec<Import>,
    },
    Component {
        /// Whether it needs what WASI 0.3 brings: asynchronous functions, streams, futures. Others are called faster without.
        is_concurrent: bool,
        imports: Vec<String>,
    },
}

/// An import of a module.
#[derive(Clone)]
pub struct Import {
    pub module: String,
    pub name: String,
    pub ty: TypeRef,
    /// The type of a function.
    pub signature: Option<FuncType>,
}

/// The probes of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    pub recording: Recording,
    pub recorder: RecorderPosition,
}

/// What probes record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Events with times.
    Trace,
    /// Events with numbers of instructions.
    Instructions,
    /// Counts, and a stack in the guest's memory.
    ShadowProfile,
    /// Counts; the stack is the thread's own.
    NativeProfile,
}

/// Where a guest's recorder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecorderPosition {
    /// A part of the module.
    Inline,
    /// Beside the module, or inside a component beside its modules.
    Beside,
}

impl Guest {
    /// Reads a module or a component, binary or text.
    pub fn read(path: &Path) -> anyhow::Result<Guest> {
        let wasm = input::read_module(path)?;
        let name = input::module_name(path);
        Guest::identify(path, name, wasm).with_context(|| format!("failed to read `{}`", path.display()))
    }

    fn identify(path: &Path, name: String, wasm: Vec<u8>) -> anyhow::Result<Guest> {
        let sections = Sections::read(&wasm)?;
        let symbols = sections.symbols.iter().map(|data| SymbolTable::from_bytes(data));
        let symbols: Result<Vec<_>, _> = symbols.collect();
        let mut symbols = symbols.map_err(|error| anyhow!("symbol table: {error}"))?;
        // A module that records itself needs no recorder.
        if sections.exports.contains(&*exported(TAKE)) {
            symbols.clear();
        }
        let (probes, kind) = if kperf_rewriter::is_component(&wasm) {
            let imports = sections.component_imports;
            (of_component(&wasm), Kind::Component { is_concurrent: is_concurrent(&wasm), imports })
        } else {
            let Sections { has_start, .. } = sections;
            (sections.probes(), Kind::Module { has_start, imports: sections.imports })
        };
        Ok(Guest { path: path.to_owned(), name, wasm, kind, probes, symbols })
    }

    /// Whether it is a component.
    pub fn is_component(&self) -> bool {
        matches!(self.kind, Kind::Component { .. })
    }

    /// Whether it is a component that needs what WASI 0.3 brings.
    pub fn is_concurrent(&self) -> bool {
        matches!(self.kind, Kind::Component { is_concurrent: true, .. })
    }

    /// Whether its recorder is a part of the module.
    pub fn is_inlined(&self) -> bool {
        self.probes.is_some_and(|probes| probes.recorder == RecorderPosition::Inline)
    }

    /// What its probes record, if it has any.
    pub fn recording(&self) -> Option<Recording> {
        self.probes.map(|probes| probes.recording)
    }

    /// The same guest with new probes.
    pub fn rewritten(self, wasm: Vec<u8>, symbols: Vec<SymbolTable>) -> anyhow::Result<Guest> {
        let probes = match self.kind {
            Kind::Component { .. } => of_component(&wasm),
            Kind::Module { .. } => Sections::read(&wasm)?.probes(),
        };
        Ok(Guest { wasm, symbols, probes, ..self })
    }
}

impl Recording {
    /// Whether it is a profile.
    pub fn is_profile(self) -> bool {
        matches!(self, Recording::ShadowProfile | Recording::NativeProfile)
    }
}

/// What is looked for in the sections.
#[derive(Default)]
struct Sections<'a> {
    has_start: bool,
    imports: Vec<Import>,
    component_imports: Vec<String>,
    /// Names of exports that a recorder has.
    exports: HashSet<&'a str>,
    /// Symbol tables, also of modules inside.
    symbols: Vec<&'a [u8]>,
}

impl<'a> Sections<'a> {
    fn read(wasm: &'a [u8]) -> Result<Sections<'a>, kperf_rewriter::Error> {
        let mut found = Sections::default();
        let mut types: Vec<SubType> = Vec::new();
        let mut depth = 0;
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::Version { .. } => depth += 1,
                Payload::End(_) => depth -= 1,
                Payload::CustomSection(section) if section.name() == SYMBOLS_SECTION => {
                    found.symbols.push(section.data());
                }
                _ if depth > 1 => {}
                Payload::TypeSection(section) => {
                    types = section.into_iter().flatten().flat_map(|group| group.into_types()).collect();
                }
                Payload::ImportSection(section) => {
                    let imports = section.into_imports().flatten();
                    found.imports.extend(imports.map(|import| Import::new(&import, &types)));
                }
                Payload::ExportSection(section) => {
                    let names = section.into_iter().flatten().map(|export| export.name);
                    found.exports.extend(names.filter(|name| name.starts_with(EXPORT_PREFIX)));
                }
                Payload::StartSection { .. } => found.has_start = true,
                Payload::ComponentImportSection(section) => {
                    let imports = section.into_iter().flatten();
                    let imports = imports.filter(|import| import.ty.kind() != ComponentExternalKind::Type);
                    found.component_imports.extend(imports.map(|import| import.name.name.to_owned()));
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// The probes of a module.
    fn probes(&self) -> Option<Probes> {
        let imports: Vec<&Import> =
            self.imports.iter().filter(|import| is_of_probes(&import.module, &import.name)).collect();
        let exports = |name| self.exports.contains(&*exported(name));
        let is_inlined = imports.iter().any(|import| import.module == HOST_MODULE);
        let counts = imports.iter().any(|import| import.name == INSTRUCTIONS);
        let recording = match is_inlined {
            _ if imports.is_empty() => return None,
            true if exports(STATE_INSTRUCTIONS) => Recording::Instructions,
            true if exports(STATE_FUNCTIONS) && exports(STATE_TOP) => Recording::ShadowProfile,
            true if exports(STATE_FUNCTIONS) => Recording::NativeProfile,
            false if counts => Recording::Instructions,
            _ => Recording::Trace,
        };
        let recorder = if is_inlined { RecorderPosition::Inline } else { RecorderPosition::Beside };
        Some(Probes { recording, recorder })
    }
}

impl Import {
    fn new(import: &wasmparser::Import<'_>, types: &[SubType]) -> Import {
        let ty = match import.ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => types.get(index as usize),
            _ => None,
        };
        let signature = ty.and_then(|ty| match &ty.composite_type.inner {
            CompositeInnerType::Func(signature) => Some(signature.clone()),
            _ => None,
        });
        Import { module: import.module.to_owned(), name: import.name.to_owned(), ty: import.ty, signature }
    }
}

/// The probes of a component.
fn of_component(wasm: &[u8]) -> Option<Probes> {
    let recording = match kperf_rewriter::component_records(wasm)? {
        Records::Trace => Recording::Trace,
        Records::Instructions => Recording::Instructions,
        Records::Profile => Recording::ShadowProfile,
    };
    Some(Probes { recording, recorder: RecorderPosition::Beside })
}

fn is_concurrent(wasm: &[u8]) -> bool {
    let plain = WasmFeatures::all() - WasmFeatures::CM_ASYNC;
    let is_valid = |features| Validator::new_with_features(features).validate_all(wasm).is_ok();
    !is_valid(plain) && is_valid(WasmFeatures::all())
}
