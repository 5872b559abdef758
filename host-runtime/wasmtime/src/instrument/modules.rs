//! The modules of a recording, and their ids.

use crate::error::{ErrorKind, Result};
use crate::recorder::Recorder;
use kperf_rewriter::{Options, Rewritten};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Where ids begin. Modules that were rewritten before count from 0, so these rarely meet them.
const IDS: Range<u32> = 1 << 20..1 << 27;

/// The modules whose functions a recording knows.
#[derive(Default)]
pub(super) struct Modules {
    /// The hashes of their symbol tables, which have the ids too.
    known: Mutex<HashSet<[u8; 32]>>,
}

impl Modules {
    /// Puts probes into a module and makes its functions known to its recording. `None` if it has its probes already; then they are
    /// known from here on.
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
        // (A map of names has no order. Modules that differ only in that meet each other below.)
        let described = format!("{:?}", Options { id_base: 0, names: None, ..options.clone() });
        let mut id_base =
            first_id(&Sha256::new().chain_update(described).chain_update(wasm).finalize().into());
        loop {
            let rewritten =
                kperf_rewriter::rewrite(wasm, &Options { id_base, ..options.clone() }).map_err(refused)?;
            if rewritten.symbols.symbols.is_empty() {
                return Ok(Some(rewritten));
            }
            match self.claim(recorder, rewritten.symbols.to_bytes()) {
                Ok(()) => return Ok(Some(rewritten)),
                // Rare. What comes behind the other module is free, or another one's.
                Err(error) => match error.kind() {
                    ErrorKind::OverlappingIds { first, .. } if first.end > id_base => id_base = first.end,
                    _ => return Err(error),
                },
            }
        }
    }

    /// Makes a module's functions known, unless they are.
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

/// The first id of a module with this hash. Modules with many functions may reach beyond the end of the range, which is far from the
/// greatest id.
fn first_id(hash: &[u8; 32]) -> u32 {
    let number = hash.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    IDS.start + number % (IDS.end - IDS.start)
}
