//! What the guest may see of the world.

use anyhow::{Context, anyhow};
use std::path::Path;
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// What the guest may see of the world.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "What the guest sees")]
pub struct WasiArgs {
    /// Let the guest read and write this folder, under the same name or as GUEST. May be repeated.
    #[arg(long = "dir", value_name = "HOST[::GUEST]")]
    dirs: Vec<String>,
    /// Set an environment variable; without a value, pass on ours. May be repeated.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    vars: Vec<String>,
}

impl WasiArgs {
    /// The guest's world: our stdio, these arguments behind the module's file name, and nothing else but the flags.
    pub fn context(&self, module: &Path, args: &[String]) -> anyhow::Result<WasiP1Ctx> {
        let mut builder = WasiCtxBuilder::new();
        builder.inherit_stdio().allow_blocking_current_thread(true);
        let program = module.file_name().unwrap_or(module.as_os_str()).to_string_lossy();
        builder.arg(program).args(args);
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
        Ok(builder.build_p1())
    }
}
