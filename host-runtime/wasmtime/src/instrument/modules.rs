//! The modules of a recording, and their ids.

use crate::error::{Error, ErrorKind, Result};
use crate::recorder::handle::Recorder;
#[cfg(feature = "component-model")]
use kperf_rewriter::RewrittenComponent;
use kperf_rewriter::{Options, Rewritten};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The first id. Modules that were rewritten elsewhere count from 0, so conflicts are rare.
const IDS: Range<u32> = 1 << 20..1 << 27;

/// The modules of a recording.
#[derive(Default)]
pub(super) struct Modules {
    /// The hashes of their symbol tables, which have the ids too.
    known: Mutex<HashSet<[u8; 32]>>,
}

impl Modules {
    /// Puts probes into a module and adds its functions to the recording. `None` if it has probes already; its functions are added
    /// too.
    pub(super) fn rewrite(
        &self,
        recorder: &Recorder,
        wasm: &[u8],
        options: &Options,
    ) -> Result<Option<Rewritten>> {
        let refused = |error: kperf_rewriter::Error| ErrorKind::Rewrite(Box::new(error));
        if let Some(table) = kperf_rewriter::probed(wasm).map_err(refused)? {
            self.claim(recorder, table.to_bytes())?;
            return Ok(None);
        }
        let mut id_base = first_id_of(wasm, options);
        loop {
            let rewritten =
                kperf_rewriter::rewrite(wasm, &Options { id_base, ..options.clone() }).map_err(refused)?;
            if rewritten.symbols.symbols.is_empty() {
                return Ok(Some(rewritten));
            }
            match self.claim(recorder, rewritten.symbols.to_bytes()) {
                Ok(()) => return Ok(Some(rewritten)),
                // Rare. The ids after the other module's are free, or a third one's.
                Err(error) => match id_base_behind(&error) {
                    Some(behind) if behind > id_base => id_base = behind,
                    _ => return Err(error),
                },
            }
        }
    }

    /// The same for a component.
    #[cfg(feature = "component-model")]
    pub(super) fn rewrite_component(
        &self,
        recorder: &Recorder,
        wasm: &[u8],
        options: &Options,
    ) -> Result<Option<RewrittenComponent>> {
        let refused = |error: kperf_rewriter::Error| ErrorKind::Rewrite(Box::new(error));
        let known = kperf_rewriter::probed_component(wasm).map_err(refused)?;
        if !known.is_empty() {
            known.iter().try_for_each(|table| self.claim(recorder, table.to_bytes()))?;
            return Ok(None);
        }
        let mut id_base = first_id_of(wasm, options);
        'again: loop {
            let options = Options { id_base, ..options.clone() };
            let rewritten = kperf_rewriter::rewrite_component(wasm, &options).map_err(refused)?;
            for table in rewritten.symbols() {
                match self.claim(recorder, table.to_bytes()).map_err(|error| (id_base_behind(&error), error))
                {
                    Ok(()) => {}
                    // Rare. The tables before this one are added already, and no module uses their ids.
                    Err((Some(behind), _)) if behind > id_base => {
                        id_base = behind;
                        continue 'again;
                    }
                    Err((_, error)) => return Err(error),
                }
            }
            return Ok(Some(rewritten));
        }
    }

    /// Adds a module's functions, unless they are there.
    fn claim(&self, recorder: &Recorder, table: Vec<u8>) -> Result<()> {
        let hash = Sha256::digest(&table).into();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&hash) {
            recorder.symbols(table)?;
            known.insert(hash);
        }
        Ok(())
    }
}

/// The first id of a module, or a component, that is rewritten with these options.
fn first_id_of(wasm: &[u8], options: &Options) -> u32 {
    // (A map of names has no order. Modules that differ only in their names conflict when they are added.)
    let described = format!("{:?}", Options { id_base: 0, names: None, ..options.clone() });
    first_id(&Sha256::new().chain_update(described).chain_update(wasm).finalize().into())
}

/// If a module's ids were another's: the first id after those.
fn id_base_behind(error: &Error) -> Option<u32> {
    match error.kind() {
        ErrorKind::OverlappingIds { first, .. } => Some(first.end),
        _ => None,
    }
}

/// The first id of a module with this hash. Modules with many functions may exceed the end of the range, which is far from the
/// largest id.
fn first_id(hash: &[u8; 32]) -> u32 {
    let number = hash.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    IDS.start + number % (IDS.end - IDS.start)
}
