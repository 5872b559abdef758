//! Components: every core module inside gets probes, and the graph around them gets what these need.
//!
//! Three steps: `scan` validates the component and finds its modules, `modules` puts probes into them by the pass for
//! modules, `graph` writes the component anew. There a recorder stands at the front of each component that instantiates a
//! module with probes (`prelude`), and the functions that run while a component may not be left are guarded (`guard`).
//!
//! ```wat
//! (component
//!   (import "kperf:host/recorder" (instance $host ..))       ;; attach, flush, now
//!   (core instance $memory (instantiate ..))                 ;; the block; of a profile the stack and the counts
//!   (core func $flush (canon lower (func $host "flush") (memory $memory "memory")))
//!   (core instance $kperf (instantiate $recorder ..))        ;; enter, leave ..
//!   ..
//!   (core instance $i (instantiate $m .. (with "kperf" (instance $kperf))))
//! ```

mod canonical;
mod exports;
mod graph;
mod guard;
mod links;
mod modules;
mod needs;
mod prelude;
mod scan;
mod scope;
mod wit;

use crate::{
    Clock, Error, ErrorKind, Imported, Left, ModuleFeature, Options, Plan, Recording, Warning, twin,
};
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{SymbolTable, names};
use prelude::Recorder;
use sha2::{Digest, Sha256};

/// A component with probes in its core modules.
#[derive(Debug)]
pub struct RewrittenComponent {
    /// Its bytes; the input's own when nothing was to be probed.
    pub wasm: Vec<u8>,
    /// Its core modules, in the order in which they stand, those of nested components too.
    pub modules: Vec<CoreModule>,
    /// The calls of it from outside: a table for each module of ours that tells some. The symbols are called as what is exported:
    /// `wasi:cli/run@0.2.0#run`.
    pub exports: Vec<SymbolTable>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

impl RewrittenComponent {
    /// The symbol tables of the modules that have probes, and of the calls from outside.
    pub fn symbols(&self) -> impl Iterator<Item = &SymbolTable> {
        let modules = self.modules.iter().map(|module| &module.symbols);
        modules.chain(&self.exports).filter(|table| !table.symbols.is_empty())
    }
}

/// A core module of a component.
#[derive(Debug)]
pub struct CoreModule {
    /// The component's name and the module's: `app/main`.
    pub name: String,
    /// Which function each id stands for. The module carries it too, unless nothing in it is probed.
    pub symbols: SymbolTable,
    /// What became of each function; `None` if the module was left as it is.
    pub plan: Option<Plan>,
    /// Why it was left as it is.
    pub left: Option<Left>,
}

/// A core module of a component, as it stands there.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its own name, or the one that the component gives it; `module[2]` where there is none.
    pub name: String,
    /// Its length.
    pub bytes: usize,
    /// How many functions it defines.
    pub functions: u32,
}

/// The core modules of a component, in the order in which they stand, those of nested components too.
pub fn core_modules(wasm: &[u8]) -> Result<Vec<Described>, Error> {
    let scan = scan::scan(wasm)?;
    let names = modules::names(&scan, &Options::default());
    let described = scan.modules.iter().zip(names).map(|(module, (_, name))| Described {
        name,
        bytes: module.bytes.len(),
        functions: module.functions,
    });
    Ok(described.collect())
}

/// Whether these bytes begin as a component does.
pub fn is_component(wasm: &[u8]) -> bool {
    wasmparser::Parser::is_component(wasm)
}

/// Puts probes into the core modules of a component. Their ids follow each other, beginning at `options.id_base`. Functions
/// are called as in their module; in all modules but the one with the most of them `module::` stands in front.
///
/// The component imports the instance `kperf:host/recorder` then (see [`kperf_abi::names::COMPONENT_HOST`]).
///
/// # Errors
///
/// If the component is invalid or has probes already, if a core module can't be rewritten (the error names it), if the
/// options are not for components ([`ModuleFeature`]).
pub fn rewrite_component(wasm: &[u8], options: &Options) -> Result<RewrittenComponent, Error> {
    check(options)?;
    let makes_profile = matches!(options.recording, Recording::Profile { .. });
    // In any case the core modules import the recorder that stands beside them.
    let clock = options.recording.clock();
    let recording = Recording::Imported(Imported { clock, ..Imported::default() });
    let options = &Options { recording, ..options.clone() };
    let scan = scan::scan(wasm)?;
    if scan.has_probes {
        return Err(ErrorKind::AlreadyProbed.into());
    }
    let paths = modules::paths(&scan);
    let lifted = exports::find(&scan, &paths, options);
    let (modules, mut warnings) = modules::rewrite(wasm, &scan, &lifted, options)?;
    let rewritten: Vec<Option<&[u8]>> = modules.iter().map(|module| module.wasm.as_deref()).collect();
    let needs = needs::Needs::find(&scan, &rewritten, &lifted)?;
    let identity = ModuleIdentity {
        name: format!("{}/", modules::root(&scan, options)),
        sha256: twin::hexadecimal(&Sha256::digest(wasm)),
        rewriter: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.description.clone(),
        ..ModuleIdentity::default()
    };
    let next_id = modules.iter().map(|module| module.told.symbols.id_end()).max().unwrap_or(options.id_base);
    let recorder = if makes_profile {
        // What calls from outside get is not known yet: at most two ids for each function.
        let more = lifted.iter().flatten().filter(|export| export.tells()).count() as u32;
        Recorder::Profile(options.id_base..next_id.saturating_add(more.saturating_mul(2)))
    } else if clock == Clock::Instructions {
        Recorder::Counting
    } else {
        Recorder::Trace
    };
    let tables = Vec::new();
    let mut told = graph::Told { exports: &lifted, paths: &paths, identity, next_id, tables };
    let wasm = if needs.anything() {
        let out = graph::write(wasm, &scan, &rewritten, &recorder, &needs, &mut told, &mut warnings)?;
        #[cfg(feature = "validate")]
        if options.validate || cfg!(debug_assertions) {
            let features = wasmparser::WasmFeatures::all();
            wasmparser::Validator::new_with_features(features)
                .validate_all(&out)
                .map_err(|error| ErrorKind::Invalid { message: error.to_string(), context: String::new() })?;
        }
        out
    } else {
        wasm.to_vec()
    };
    Ok(RewrittenComponent {
        wasm,
        exports: told.tables,
        modules: modules.into_iter().map(|module| module.told).collect(),
        warnings,
    })
}

/// What the recorders of a component record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Events with the host's time.
    Trace,
    /// Events with the number of instructions.
    Instructions,
    /// Counts of calls, and a stack that is sampled.
    Profile,
}

/// What the recorders of a component with probes record; `None` if it imports nothing for recorders.
pub fn component_records(wasm: &[u8]) -> Option<Records> {
    use wasmparser::{ComponentType, InstanceTypeDeclaration, Payload};
    let mut wanted = Vec::new();
    let mut depth = 0;
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        match payload.ok()? {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentTypeSection(section) if depth == 1 => {
                for ty in section.into_iter().map_while(Result::ok) {
                    let ComponentType::Instance(declared) = ty else { continue };
                    wanted.extend(declared.iter().filter_map(|declared| match declared {
                        InstanceTypeDeclaration::Export { name, .. } => Some(name.name),
                        _ => None,
                    }));
                }
            }
            Payload::ComponentImportSection(section) if depth == 1 => {
                let mut imports = section.into_iter().map_while(Result::ok);
                if imports.any(|import| import.name.name == names::COMPONENT_HOST) {
                    return Some(if wanted.contains(&names::HOST_ATTACH_PROFILE) {
                        Records::Profile
                    } else if wanted.contains(&names::HOST_ATTACH_COUNTING) {
                        Records::Instructions
                    } else {
                        Records::Trace
                    });
                }
            }
            _ => {}
        }
    }
    None
}

/// Fails on options that components can't have.
fn check(options: &Options) -> Result<(), Error> {
    let feature = match options.recording {
        _ if options.names.is_some() => ModuleFeature::NameFile,
        _ if options.recording.has_allocations() => ModuleFeature::Allocations,
        Recording::Imported(_) | Recording::Profile { .. } => return Ok(()),
        Recording::Inline(_) => ModuleFeature::InlineRecorder,
        Recording::Count => ModuleFeature::NativeStack,
    };
    Err(ErrorKind::NotForComponents { feature }.into())
}

/// The symbol tables of a component that has probes already, one for each core module with probes; none for one without.
pub fn probed_component(wasm: &[u8]) -> Result<Vec<SymbolTable>, Error> {
    let mut tables = Vec::new();
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        if let wasmparser::Payload::CustomSection(section) = payload?
            && section.name() == names::SYMBOLS_SECTION
        {
            let offset = section.data_offset();
            let table = SymbolTable::from_bytes(section.data())
                .map_err(|error| Error::malformed(offset + error.offset as u64, error.to_string()))?;
            tables.push(table);
        }
    }
    Ok(tables)
}
