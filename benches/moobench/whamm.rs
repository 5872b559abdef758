//! whamm's rewriter (crates.io/crates/whamm). Its probes at the function's entry and exits call a library that does nothing.
//! `scripts/bench --with-whamm` installs it.

use crate::workload::Job;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::{Engine, Linker, Module, Store};

/// The library's name in `whamm/probes.mm`, by which modules import it.
const LIBRARY: &str = "empty";

/// The rewriter, if it is there.
pub(crate) fn program() -> Option<PathBuf> {
    std::env::var_os("KPERF_WHAMM").map(PathBuf::from).filter(|path| path.exists())
}

/// A module with its probes.
pub(crate) fn rewrite(job: &Job) -> anyhow::Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let (library, rewritten) = (folder.path().join("empty.wasm"), folder.path().join("rewritten.wasm"));
    std::fs::write(&library, empty(&job.root)?)?;
    let mut command = Command::new(program().context("no whamm")?);
    command.arg("instr").arg("--app").arg(job.workload.module(&job.root));
    command.arg("--script").arg(source(&job.root).join("probes.mm"));
    command.arg("--user-libs").arg(format!("{LIBRARY}={}", library.display()));
    command.arg("--output-path").arg(&rewritten).current_dir(folder.path());
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&said));
    std::fs::read(&rewritten).with_context(|| format!("whamm: {}", String::from_utf8_lossy(&said)))
}

/// The library beside the module.
pub(crate) fn link<T: 'static>(
    linker: &mut Linker<T>,
    store: &mut Store<T>,
    root: &Path,
) -> anyhow::Result<()> {
    let library = Module::new(store.engine(), empty(root)?)?;
    let library = linker.instantiate(&mut *store, &library)?;
    linker.instance(&mut *store, LIBRARY, library)?;
    Ok(())
}

/// Counts with a library that counts how often a batch calls it; answers the events of the whole run.
pub(crate) fn events(engine: &Engine, module: &Module, job: &Job) -> anyhow::Result<u64> {
    let counts = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    let mut linker = Linker::new(engine);
    for (name, count) in ["enter", "leave"].into_iter().zip(counts.clone()) {
        linker.func_wrap(LIBRARY, name, move |_: u32| {
            count.fetch_add(1, Ordering::Relaxed);
        })?;
    }
    let mut store = Store::new(engine, ());
    linker.define_unknown_imports_as_traps(module)?;
    let instance = linker.instantiate(&mut store, module)?;
    let (export, argument) = job.workload.export().context("no export")?;
    let export = instance.get_typed_func::<(u32, u32), u32>(&mut store, export)?;
    export.call(&mut store, (job.batches().0, argument))?;
    let (counted, calls) = (counts.map(|count| count.load(Ordering::Relaxed)), job.calls_a_batch());
    ensure!(counted == [calls; 2], "{counted:?} calls of the library where {calls} are right");
    Ok(2 * job.calls_of_monitored())
}

/// The library that does nothing.
fn empty(root: &Path) -> anyhow::Result<Vec<u8>> {
    Ok(wat::parse_file(source(root).join("empty.wat"))?)
}

fn source(root: &Path) -> PathBuf {
    root.join("benches/moobench/whamm")
}
