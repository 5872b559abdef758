//! Makes a component of a module: `componentize IN.wasm OUT.wasm command|reactor|proxy`.

use anyhow::{Context, bail};
use wasi_preview1_component_adapter_provider as adapters;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, kind] = &args[..] else { bail!("usage: componentize IN.wasm OUT.wasm command|reactor|proxy") };
    let adapter = match kind.as_str() {
        "command" => adapters::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
        "reactor" => adapters::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
        "proxy" => adapters::WASI_SNAPSHOT_PREVIEW1_PROXY_ADAPTER,
        _ => bail!("`{kind}` is neither `command`, `reactor` nor `proxy`"),
    };
    let mut encoder = wit_component::ComponentEncoder::default();
    encoder.module(&std::fs::read(input)?)?;
    encoder.adapter(adapters::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)?;
    std::fs::write(output, encoder.encode().context("the module makes no component")?)?;
    Ok(())
}
