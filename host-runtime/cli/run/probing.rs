//! Puts probes into the guest.

use super::guest::Guest;
use crate::shared::flags::probes::{LeafArg, ProbeArg, ProbeArgs};
use crate::shared::symbols;
use anyhow::{Context, bail};
use kperf_rewriter::{Host, Options, Recording, Warning};
use kperf_wasmtime::{ClockChoice, HAS_NATIVE_STACKS};
use wasmparser::{Validator, WasmFeatures};

/// The guest with the probes that it has, or with new ones, and what the rewriter warned of.
pub fn with_probes(
    guest: Guest,
    args: &ProbeArgs,
    clock: ClockChoice,
) -> anyhow::Result<(Guest, Vec<Warning>)> {
    let failed = format!("failed to put probes into `{}`", guest.path.display());
    let guest = if guest.is_component() {
        component(guest, args, clock)
    } else {
        module(guest, args, Form::OfFlags(clock))
    };
    guest.context(failed)
}

/// A module for `--repeat`: without probes but with names for samples, and with probes that count calls.
pub fn repeated(guest: Guest, args: &ProbeArgs) -> anyhow::Result<(Guest, Guest, Vec<Warning>)> {
    if !HAS_NATIVE_STACKS {
        bail!("--repeat samples the program without probes, which needs Linux on x86-64");
    }
    if guest.is_component() || guest.probes.is_some() {
        let what = if guest.is_component() { "a component" } else { "a module with probes" };
        bail!("--repeat runs modules without probes, and `{}` is {what}", guest.path.display());
    }
    let (sampled, _) = module(guest.clone(), args, Form::Is(Recording::Sample))?;
    let (counted, warnings) = module(guest, args, Form::Is(Recording::OwnCount))?;
    Ok((sampled, counted, warnings))
}

/// The form of probes.
#[derive(Clone, Copy)]
enum Form {
    /// The one that flags ask for, with this clock.
    OfFlags(ClockChoice),
    Is(Recording),
}

/// Fails if a guest that runs without probes has some, or if flags choose functions for probes.
pub fn check_plain(guest: &Guest, args: &ProbeArgs) -> anyhow::Result<()> {
    if chooses(&args.options(guest.name.clone(), true, 0, Recording::imported())?) {
        bail!("--plain runs the module as it is; remove the flags that choose functions");
    }
    if !guest.symbols.is_empty() {
        let failed = format!("failed to run `{}`", guest.path.display());
        return Err(anyhow::anyhow!(
            "it has probes, which need a recorder, and --plain has none; run the original"
        ))
        .context(failed);
    }
    Ok(())
}

/// Adds probes to the modules of a component.
fn component(guest: Guest, args: &ProbeArgs, clock: ClockChoice) -> anyhow::Result<(Guest, Vec<Warning>)> {
    if args.record.is_profile() && args.probe != ProbeArg::Auto {
        bail!(
            "--probe is for traces; a profile of a component has its recorder beside the modules, so remove it"
        );
    }
    let options = if clock == ClockChoice::Instructions {
        args.counting(guest.name.clone(), true, 0, Recording::imported())?
    } else {
        args.options(guest.name.clone(), true, 0, Recording::imported())?
    };
    let options = Options { host: Host::harmless(), ..options };
    if !guest.symbols.is_empty() {
        check_not_chosen(&options)?;
        return Ok((guest, Vec::new()));
    }
    let rewritten = kperf_rewriter::rewrite_component(&guest.wasm, &options)?;
    let symbols = rewritten.symbols().cloned().collect();
    Ok((guest.rewritten(rewritten.wasm, symbols)?, rewritten.warnings))
}

/// Adds probes to a module. The recorder goes inside where that costs less.
fn module(guest: Guest, args: &ProbeArgs, form: Form) -> anyhow::Result<(Guest, Vec<Warning>)> {
    let clock = match form {
        Form::OfFlags(clock) => clock,
        Form::Is(_) => ClockChoice::Precise,
    };
    let counts = clock == ClockChoice::Instructions;
    let found = match args.symbols() {
        Some(_) => None,
        None => symbols::of_module(&guest.path, &guest.wasm).map(|(_, file)| file),
    };
    let options = |auto| -> anyhow::Result<Options> {
        let options = if counts {
            if args.probe == ProbeArg::Import {
                bail!(
                    "`run` has its recorder inside a module that counts its instructions; remove --probe import"
                );
            }
            args.counting(guest.name.clone(), true, 0, Recording::inline())?
        } else {
            args.options(guest.name.clone(), true, 0, auto)?
        };
        // It can call nothing but WASI, which never calls back.
        let host = Host::harmless();
        Ok(Options { host, names: options.names.or_else(|| found.clone()), ..options })
    };
    let auto = match clock {
        _ if args.record.is_profile() && HAS_NATIVE_STACKS => Recording::OwnCount,
        ClockChoice::Ticker { .. } | ClockChoice::Instructions => Recording::inline(),
        _ if args.leaf == LeafArg::Count || args.allocations.is_some() => Recording::inline(),
        // Two readings of the clock cost more than the rest of a probe, so the recorder's place doesn't matter.
        ClockChoice::Precise | ClockChoice::Test => Recording::imported(),
    };
    let chosen = match (options(auto)?, form) {
        (options, Form::Is(recording)) => Options { recording, ..options },
        (options, Form::OfFlags(_)) => options,
    };
    if !guest.symbols.is_empty() {
        check_existing(&guest, &chosen)?;
        return Ok((guest, Vec::new()));
    }
    // The engine would give offsets in the rewritten module.
    Validator::new_with_features(WasmFeatures::all()).validate_all(&guest.wasm)?;
    let rewritten = match kperf_rewriter::rewrite(&guest.wasm, &chosen) {
        // There may be no room for a recorder inside (too many memories, say). If imported probes fail as well, their error
        // is the one to show.
        Err(_)
            if chosen.recording.is_inline()
                && !counts
                && args.probe == ProbeArg::Auto
                && args.leaf == LeafArg::Time =>
        {
            kperf_rewriter::rewrite(&guest.wasm, &options(Recording::imported())?)?
        }
        // There may be no room for so many globals.
        Err(_) if chosen.recording == Recording::OwnCount => {
            kperf_rewriter::rewrite(&guest.wasm, &Options { recording: Recording::Count, ..chosen })?
        }
        rewritten => rewritten?,
    };
    Ok((guest.rewritten(rewritten.wasm, vec![rewritten.symbols])?, rewritten.warnings))
}

/// Fails if the flags ask for other probes than the module has.
fn check_existing(guest: &Guest, options: &Options) -> anyhow::Result<()> {
    let counted = guest.symbols.iter().flat_map(|table| &table.symbols).any(|symbol| symbol.counted);
    if options.recording.counts_leaves() && !counted {
        bail!("it has probes already, which time all functions; run the original, or remove --leaf count");
    }
    let allocations = guest.symbols.iter().any(|table| table.module.allocations.is_some());
    if options.recording.has_allocations() && !allocations {
        bail!(
            "it has probes already, which record no allocations; run the original, or remove --allocations"
        );
    }
    check_not_chosen(options)
}

fn check_not_chosen(options: &Options) -> anyhow::Result<()> {
    if chooses(options) {
        bail!(
            "it has probes already, so functions can't be chosen any more; run the original, or remove the filters"
        );
    }
    Ok(())
}

/// Whether the user chose functions, or gave names for them.
fn chooses(options: &Options) -> bool {
    let named = options.names.is_some();
    named || !options.filter.is_empty() || options.exports_only || options.min_instructions > 0
}
