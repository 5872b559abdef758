//! Writing products: stdout or a file, binary never to a terminal.

use anyhow::{Context, bail};
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Whether an error is only that nobody reads our stdout any more.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// Writes to stdout, all or an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("failed to write to stdout")
}

/// Tells the user something on stderr. There is nobody left to tell when stderr is closed.
pub fn tell(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Where a product goes: a file, or stdout.
pub struct Product {
    out: BufWriter<Box<dyn Write + Send>>,
    path: PathBuf,
}

impl Product {
    /// Makes the file, or takes stdout for `-`; binary products don't go to a terminal.
    pub fn create(path: &Path, is_binary: bool) -> anyhow::Result<Product> {
        let out: Box<dyn Write + Send> = if path != Path::new("-") {
            let context = || format!("failed to create `{}`", path.display());
            Box::new(std::fs::File::create(path).with_context(context)?)
        } else {
            let stdout = std::io::stdout();
            if is_binary && stdout.is_terminal() {
                bail!("this format is binary and stdout is a terminal; name a file with -o FILE, or pipe it");
            }
            Box::new(stdout)
        };
        Ok(Product { out: BufWriter::with_capacity(1 << 16, out), path: path.to_owned() })
    }

    /// What it is called in messages.
    pub fn name(&self) -> String {
        if self.path == Path::new("-") { "stdout".to_owned() } else { self.path.display().to_string() }
    }
}

impl Write for Product {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Writes binary output to a file, or to stdout for `-` unless that is a terminal.
pub fn write_binary(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if path != Path::new("-") {
        return std::fs::write(path, bytes).with_context(|| format!("failed to write `{}`", path.display()));
    }
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        bail!("a module is binary and stdout is a terminal; name a file with -o FILE, or pipe it");
    }
    stdout.write_all(bytes).context("failed to write to stdout")
}
