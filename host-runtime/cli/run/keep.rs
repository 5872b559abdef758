//! `--keep`: a flight recorder.

use super::guest::{Guest, Recording};
use super::shown::show;
use super::summary::Summary;
use crate::shared::output;
use anyhow::bail;
use kperf_rewriter::Pattern;
use kperf_wasmtime::{Builder, Keep, Notice, Recorder};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What is kept, and what is written.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "A flight recorder")]
pub struct KeepArgs {
    /// Record every call, keep the last ones in memory, and write them to the file of --trace (`app.kperf`, then `app.2.kperf`, ..) when
    /// SIGUSR1 comes, when the guest traps or fails, when a call is slow (--slower-than), and at the end. `10s` keeps that time, as far as
    /// 64 MiB have room for it; `256MiB` that much; `10s,256MiB` both. A call takes half a byte to four. There are at most 100 files, 16
    /// for traps and 16 for slow calls, each a second after the last
    #[arg(long, value_name = "TIME|SIZE", value_delimiter = ',', conflicts_with_all = ["plain", "otlp", "repeat"])]
    keep: Vec<KeepArg>,
    /// With --keep: also when a call of a function like PATTERN has taken TIME (`app::handle*:50ms`), waits included
    #[arg(long, value_name = "PATTERN:TIME", requires = "keep")]
    slower_than: Vec<SlowerArg>,
}

/// A part of `--keep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeepArg {
    Time(Duration),
    Bytes(usize),
}

impl FromStr for KeepArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<KeepArg, Self::Err> {
        let wrong = "give a time such as `10s`, a size such as `64MiB` (at least 1MiB), or both: `10s,64MiB`";
        let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
        if let Some((number, shift)) =
            units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
        {
            let bytes =
                number.trim_end().parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
            return bytes.filter(|bytes| *bytes >= 1 << 20).map(KeepArg::Bytes).ok_or(wrong);
        }
        let time = humantime::parse_duration(text).ok().filter(|time| !time.is_zero());
        time.map(KeepArg::Time).ok_or(wrong)
    }
}

/// `--slower-than`.
#[derive(Clone, Debug)]
struct SlowerArg {
    pattern: Pattern,
    limit: Duration,
}

impl FromStr for SlowerArg {
    type Err = String;

    fn from_str(text: &str) -> Result<SlowerArg, String> {
        let wrong =
            || "give a pattern and a time with a colon between them, such as `app::handle*:50ms`".to_owned();
        let (pattern, limit) = text.rsplit_once(':').ok_or_else(wrong)?;
        let limit = humantime::parse_duration(limit).map_err(|_| wrong())?;
        let pattern = Pattern::parse(pattern).map_err(|error| error.to_string())?;
        Ok(SlowerArg { pattern, limit })
    }
}

impl KeepArgs {
    /// Whether it is a flight recorder.
    pub fn is_given(&self) -> bool {
        !self.keep.is_empty()
    }

    /// Describes the recording. `trace`: the first file.
    pub fn describe(
        &self,
        builder: Builder,
        guest: &Guest,
        trace: &Path,
        quiet: bool,
        dumps: &Dumps,
    ) -> anyhow::Result<Builder> {
        if guest.recording().is_some_and(Recording::is_profile) {
            bail!(
                "--keep keeps calls, which a profile doesn't have; remove --record profile, or run the original"
            );
        }
        let (mut time, mut bytes) = (None, None);
        for part in &self.keep {
            let twice = match part {
                KeepArg::Time(part) => time.replace(*part).is_some(),
                KeepArg::Bytes(part) => bytes.replace(*part).is_some(),
            };
            if twice {
                bail!("--keep takes one time and one size");
            }
        }
        let mut keep = match (time, bytes) {
            (Some(time), Some(bytes)) => Keep::bytes(bytes).and_last(time),
            (Some(time), None) => Keep::last(time),
            (None, bytes) => Keep::bytes(bytes.unwrap_or_default()),
        };
        for SlowerArg { pattern, limit } in &self.slower_than {
            let names =
                || guest.symbols.iter().flat_map(|table| &table.symbols).map(|symbol| symbol.display_name());
            if !names().any(|name| pattern.matches(name)) {
                let hint = pattern.hint(names()).unwrap_or_default();
                bail!("--slower-than: no function with a probe is called `{}`{hint}", pattern.as_str());
            }
            let pattern = pattern.clone();
            keep = keep.slower_than(*limit, move |name| pattern.matches(name));
        }
        let dumps = dumps.clone();
        Ok(builder.keep(keep.to(trace)).on_notice(move |notice| dumps.notice(notice, quiet)))
    }
}

/// The dumps of a run. Clones share them.
#[derive(Clone, Default)]
pub struct Dumps {
    last: Arc<Mutex<Option<PathBuf>>>,
    failed: Arc<OnceLock<()>>,
    recorder: Arc<OnceLock<Recorder>>,
}

impl Dumps {
    /// The recorder that a signal asks for a dump.
    pub fn begin(&self, recorder: &Recorder) {
        let _ = self.recorder.set(recorder.clone());
    }

    /// Asks for a dump, if there is a recorder that still records.
    pub fn request(&self, why: &str) {
        if let Some(recorder) = self.recorder.get() {
            let _ = recorder.request_dump(why);
        }
    }

    fn notice(&self, notice: &Notice<'_>, quiet: bool) {
        match notice {
            Notice::Dumped { path, .. } => {
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_path_buf());
                if !quiet {
                    output::status(notice);
                }
            }
            Notice::DumpFailed { .. } => {
                let _ = self.failed.set(());
                output::error(format_args!("{notice}"));
            }
            _ if quiet => {}
            _ => output::warn(notice),
        }
    }

    /// Shows the last dump's profile. Returns whether all were written.
    pub fn finish(&self, quiet: bool) -> bool {
        if let Some(last) = self.last.lock().unwrap_or_else(PoisonError::into_inner).take() {
            show(&last, quiet, &Summary::default());
        }
        self.failed.get().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read() {
        let [time, size] = ["10s", "64MiB"].map(str::parse::<KeepArg>);
        assert_eq!((time, size), (Ok(KeepArg::Time(Duration::from_secs(10))), Ok(KeepArg::Bytes(64 << 20))));
        for wrong in ["", "0s", "10", "1KiB", "MiB", "-1MiB", "99999999999GiB", "64MB"] {
            assert!(wrong.parse::<KeepArg>().is_err(), "{wrong}");
        }
        let slower: SlowerArg = "app::handle:50ms".parse().expect("both parts");
        assert_eq!((slower.pattern.as_str(), slower.limit), ("app::handle", Duration::from_millis(50)));
        for wrong in ["", "app", "app::handle", ":", "app:x"] {
            assert!(wrong.parse::<SlowerArg>().is_err(), "{wrong}");
        }
    }
}
