//! Files that say which functions get no probes.
//!
//! ```text
//! # Functions that get no probes: ...
//! # 1,600,000 calls, 58.1 % of self time
//! skip life::is_valid_position
//! skip copy #17
//! ```

use crate::shared::table::grouped;
use anyhow::{Context, bail};
use kperf_profile::{ProbePlan, Symbols};
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

/// More than all names of a module.
const MAX_BYTES: u64 = 256 << 20;

/// The names in a file.
pub fn read(path: &Path) -> anyhow::Result<HashSet<String>> {
    let failed = || format!("failed to read the plan `{}`", path.display());
    let length = std::fs::metadata(path).with_context(failed)?.len();
    if length > MAX_BYTES {
        bail!("`{}` is no plan: it has {} bytes", path.display(), grouped(length));
    }
    names(&std::fs::read_to_string(path).with_context(failed)?).with_context(failed)
}

fn names(text: &str) -> anyhow::Result<HashSet<String>> {
    let mut names = HashSet::new();
    for (n, line) in text.lines().enumerate() {
        match line.strip_prefix("skip ") {
            Some(name) if !name.is_empty() => _ = names.insert(name.to_owned()),
            _ if line.starts_with('#') || line.trim().is_empty() => {}
            _ => bail!("line {} is neither `skip FUNCTION` nor a comment (`# ..`): {line:?}", n + 1),
        }
    }
    Ok(names)
}

/// The text of a plan. `what`: what it was made from.
pub fn text(plan: &ProbePlan<'_>, symbols: &Symbols, what: &str) -> String {
    let mut text = format!(
        "# Functions that get no probes: run --plan, rewrite --plan, KPERF_PLAN in Node.js.\n# {}\n",
        what.replace(['\n', '\r'], " ")
    );
    for row in &plan.left_out {
        if let Some(name) = ProbePlan::name(symbols, row) {
            let (calls, share) = (grouped(row.calls), 100.0 * row.share);
            // A text takes all that is written to it.
            let _ = write!(text, "# {calls} calls, {share:.1} % of self time\nskip {name}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_they_are() {
        let plan = "# a comment\n\nskip a b\nskip copy #17\r\nskip  # [x]*\n";
        let mut found: Vec<String> = names(plan).expect("a plan").into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [" # [x]*", "a b", "copy #17"]);
    }

    #[test]
    fn another_file_is_no_plan() {
        let error = names("# fine\nlife::step\n").expect_err("no plan").to_string();
        assert_eq!(error, "line 2 is neither `skip FUNCTION` nor a comment (`# ..`): \"life::step\"");
        assert!(names("skip \n").is_err());
    }
}
