//! Flags for what the guest can see of the machine.

use super::deterministic;
use anyhow::{Context, anyhow};
use bytes::Bytes;
use std::path::Path;
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, SinkOutputStream};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// What the guest can see of the machine.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What the guest sees")]
pub struct WasiArgs {
    /// Let the guest read and write this folder, under its own name or as GUEST. May be repeated.
    #[arg(long = "dir", value_name = "HOST[::GUEST]")]
    dirs: Vec<String>,
    /// Set an environment variable of the guest. Without a value it gets the one that kperf-wasm has. May be repeated.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    vars: Vec<String>,
    /// The same random numbers and times in every run: clocks begin in 2000, and each reading is a microsecond later.
    #[arg(long)]
    deterministic: bool,
}

/// Other streams than ours.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// What stdin has; `None` for ours.
    pub input: Option<Bytes>,
    /// Whether stdout and stderr go nowhere.
    pub is_silent: bool,
}

impl WasiArgs {
    /// The guest gets our stdio as far as there are no others, the module's file name and `args` as its arguments, and what the flags
    /// give; nothing else.
    pub fn context(&self, module: &Path, args: &[String], streams: &Streams) -> anyhow::Result<WasiP1Ctx> {
        let mut builder = self.builder(module, args)?;
        if let Some(input) = &streams.input {
            builder.stdin(MemoryInputPipe::new(input.clone()));
        }
        if streams.is_silent {
            builder.stdout(SinkOutputStream).stderr(SinkOutputStream);
        }
        Ok(builder.build_p1())
    }

    /// The same, for a module or a component.
    pub fn builder(&self, module: &Path, args: &[String]) -> anyhow::Result<WasiCtxBuilder> {
        let mut builder = WasiCtxBuilder::new();
        builder.inherit_stdio().allow_blocking_current_thread(true);
        let program = module.file_name().unwrap_or(module.as_os_str()).to_string_lossy();
        builder.arg(program).args(args);
        if self.deterministic {
            deterministic::fix(&mut builder);
        }
        for var in &self.vars {
            match var.split_once('=') {
                Some((name, value)) => builder.env(name, value),
                None => match std::env::var(var) {
                    Ok(value) => builder.env(var, value),
                    Err(error) => {
                        return Err(anyhow!(error)).with_context(|| {
                            format!("--env `{var}` has no value to pass on; give one: `{var}=VALUE`")
                        });
                    }
                },
            };
        }
        for dir in &self.dirs {
            let (host, guest) = dir.split_once("::").unwrap_or((dir, dir));
            builder
                .preopened_dir(host, guest, FsPerms::ReadWrite)
                .map_err(anyhow::Error::from)
                .with_context(|| format!("failed to open the folder `{host}` of --dir"))?;
        }
        Ok(builder)
    }
}
