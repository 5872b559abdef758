//! The counts of `preload.mjs`.

use serde::Deserialize;
use std::fmt;
use std::path::Path;

/// The counts of a program's threads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Stats {
    pub(crate) modules: u64,
    pub(crate) probed: u64,
    /// Valid modules that the rewriter refused, and events that contradict the recorder.
    pub(crate) refused: Vec<String>,
    pub(crate) enters: u64,
    pub(crate) leaves: u64,
    /// Frames closed because something was caught.
    pub(crate) unwound: u64,
    /// Frames closed because an exception left the guest.
    pub(crate) escaped: u64,
    /// Frames that were open at the end.
    pub(crate) depth: u64,
    pub(crate) main: bool,
}

impl Stats {
    /// Adds up the counts of the threads. A worker may be stopped at any place, so its open frames don't count. Workers compile
    /// the same modules, so for modules only the thread with the most counts.
    pub(crate) fn collect(folder: &Path) -> Stats {
        let mut all = Stats::default();
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read(entry.unwrap().path()).unwrap();
            let one: Stats = serde_json::from_slice(&text).unwrap();
            all.modules = all.modules.max(one.modules);
            all.probed = all.probed.max(one.probed);
            all.refused.extend(one.refused);
            all.unwound += one.unwound;
            all.escaped += one.escaped;
            all.enters += one.enters;
            let closed = one.leaves + one.unwound + one.escaped;
            if one.enters != closed + one.depth {
                all.refused.push(format!("{} enters, {closed} closed, {} open", one.enters, one.depth));
            }
            if one.main {
                all.depth = one.depth;
            }
        }
        all
    }

    /// Whether every module was rewritten, the events balance, and what the program is there to show has happened.
    pub(crate) fn check(&self, expect: &[String]) -> Result<(), &'static str> {
        let expected = |what: &str| expect.iter().any(|word| word == what);
        if !self.refused.is_empty() || self.probed == 0 || self.enters == 0 {
            return Err("not all was rewritten and run");
        }
        if (self.depth > 0) != expected("open") {
            return Err("open frames in the end, or none where some were expected");
        }
        if (self.escaped > 0) != expected("left") {
            return Err("an exception left the guest, or none where one was expected");
        }
        if self.unwound == 0 && expected("unwound") {
            return Err("nothing was unwound");
        }
        Ok(())
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { modules, probed, enters, unwound, escaped, depth, .. } = self;
        write!(f, "{modules} modules, {probed} functions, {enters} calls")?;
        write!(f, " ({unwound} unwound, {escaped} left the guest, {depth} open)")
    }
}
