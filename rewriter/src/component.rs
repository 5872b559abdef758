//! Puts probes into the core modules of a component.
//!
//! 1. `scan` validates the component and finds its modules.
//! 2. `modules` puts probes into them, by the pass for modules.
//! 3. `graph` writes the component. Each component that instantiates a module with probes begins with a recorder
//!    (`prelude`). Functions that run while a component may not be left get a guard (`guard`).
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

use crate::debug_info::debug_companion;
use crate::error::{Error, ErrorKind, ModuleFeature};
use crate::options::Options;
use crate::plan::choose::Plan;
use crate::recording::{Clock, Imported, Recording};
use crate::skipped::Left;
use crate::warning::Warning;
use kperf_abi::symbols::ModuleIdentity;
use kperf_abi::{SymbolTable, names};
use prelude::Recorder;
use sha2::{Digest, Sha256};

/// A component with probes in its core modules.
#[derive(Debug)]
pub struct RewrittenComponent {
    /// Its bytes; the input's own if nothing gets a probe.
    pub wasm: Vec<u8>,
    /// Its core modules in order, with those of nested components.
    pub modules: Vec<CoreModule>,
    /// Calls from outside: a table for each guard module that records some. Symbols have the names of exports:
    /// `wasi:cli/run@0.2.0#run`.
    pub exports: Vec<SymbolTable>,
    /// What the caller should show.
    pub warnings: Vec<Warning>,
}

impl RewrittenComponent {
    /// The symbol tables of modules with probes, and of calls from outside.
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
    /// The function of each id. A module with probes contains this table too.
    pub symbols: SymbolTable,
    /// Whether each function has a probe; `None` if the module is unchanged.
    pub plan: Option<Plan>,
    /// Why the module is unchanged.
    pub left: Option<Left>,
}

/// A core module of a component.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its own name, or the component's name for it; `module[2]` without one.
    pub name: String,
    /// Its length in bytes.
    pub bytes: usize,
    /// Number of functions that it defines.
    pub functions: u32,
}

/// The core modules of a component in order, with those of nested components.
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

/// Whether the bytes begin like a component.
pub fn is_component(wasm: &[u8]) -> bool {
    wasmparser::Parser::is_component(wasm)
}

/// Puts probes into the core modules of a component.
///
/// ```wat
/// (component                                  (component
///                                               (import "kperf:host/recorder" (instance $host ..))
///                                               (core instance $kperf (instantiate $recorder ..))
///   (core module $m (func ..))                  (core module $m (import "kperf" "enter" ..) (func ..))
///   (core instance $i (instantiate $m)))        (core instance $i (instantiate $m (with "kperf" (instance
/// $kperf)))))
/// ```
///
/// Ids are consecutive from `options.id_base`. Functions have their names in the module; in all modules but the one
/// with the most functions, `module::` precedes them. The component then imports the instance `kperf:host/recorder`
/// (see [`kperf_abi::names::COMPONENT_HOST`]).
///
/// # Errors
///
/// If the component is invalid or already has probes, if a core module can't be rewritten (the error names it), or if
/// the options are not for components ([`ModuleFeature`]).
pub fn rewrite_component(wasm: &[u8], options: &Options) -> Result<RewrittenComponent, Error> {
    check(options)?;
    let makes_profile = options.recording.is_shadow_profile();
    // The core modules always import the recorder that is beside them.
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
        sha256: debug_companion::hexadecimal(&Sha256::digest(wasm)),
        rewriter: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.description.clone(),
        ..ModuleIdentity::default()
    };
    let next_id =
        modules.iter().map(|module| module.described.symbols.id_end()).max().unwrap_or(options.id_base);
    let recorder = if makes_profile {
        // The ids of calls from outside are not known yet: at most two for each function.
        let more = lifted.iter().flatten().filter(|export| export.is_recorded()).count() as u32;
        Recorder::Profile(options.id_base..next_id.saturating_add(more.saturating_mul(2)))
    } else if clock == Clock::Instructions {
        Recorder::Counting
    } else {
        Recorder::Trace
    };
    let tables = Vec::new();
    let mut outside = graph::OutsideCalls { exports: &lifted, paths: &paths, identity, next_id, tables };
    let wasm = if needs.anything() {
        let out = graph::write(wasm, &scan, &rewritten, &recorder, &needs, &mut outside, &mut warnings)?;
        #[cfg(feature = "validate")]
        if options.validate || cfg!(debug_assertions) {
            crate::instrument::pass::validate(&out)?;
        }
        out
    } else {
        wasm.to_vec()
    };
    Ok(RewrittenComponent {
        wasm,
        exports: outside.tables,
        modules: modules.into_iter().map(|module| module.described).collect(),
        warnings,
    })
}

/// What a component's recorders record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Events with the host's time.
    Trace,
    /// Events with the number of instructions.
    Instructions,
    /// Counts of calls, and a stack that is sampled.
    Profile,
}

/// What the recorders of a component with probes record; `None` for one without recorders.
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
        Recording::Imported(_) | Recording::Profile { .. } | Recording::OwnProfile => return Ok(()),
        Recording::Inline(_) | Recording::CallTree => ModuleFeature::InlineRecorder,
        Recording::Count | Recording::OwnCount | Recording::Sample => ModuleFeature::NativeStack,
    };
    Err(ErrorKind::NotForComponents { feature }.into())
}

/// The symbol tables of a component that already has probes, one for each core module with probes.
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
