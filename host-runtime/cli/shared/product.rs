//! Files that are written whole or not at all.
//!
//! A product is written to a temporary file beside its target. When it is complete, it replaces the target. So an old file
//! stays if the trace has nothing to draw, the disk is full or the process is killed. Devices, pipes and stdout can't be
//! replaced, so they are written directly.

use anyhow::{Context, bail};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// How many bytes are collected before they are written.
const BUFFER: usize = 1 << 16;
/// How many symbolic links are followed to a file.
const MAX_LINKS: usize = 40;
/// How many names for the temporary file are tried.
const MAX_NAMES: u32 = 100;

/// A file or stdout that is written. A file is unchanged until [`Product::finish`].
#[must_use]
pub struct Product {
    out: BufWriter<Out>,
    path: PathBuf,
    /// The temporary file, and the one that it replaces.
    pending: Option<Pending>,
}

enum Out {
    File(File),
    Stdout(io::Stdout),
}

struct Pending {
    beside: PathBuf,
    target: PathBuf,
}

impl Product {
    /// Begins a file, or takes stdout for `-`. Fails if a binary product would go to a terminal.
    pub fn create(path: &Path, is_binary: bool) -> anyhow::Result<Product> {
        let path = path.to_owned();
        if path == Path::new("-") {
            let stdout = io::stdout();
            if is_binary && stdout.is_terminal() {
                bail!("this format is binary and stdout is a terminal; name a file with -o FILE, or pipe it");
            }
            return Ok(Product {
                out: BufWriter::with_capacity(BUFFER, Out::Stdout(stdout)),
                path,
                pending: None,
            });
        }
        let (file, pending) =
            begin(&path).with_context(|| format!("failed to create `{}`", path.display()))?;
        Ok(Product { out: BufWriter::with_capacity(BUFFER, Out::File(file)), path, pending })
    }

    /// Writes all of a product at once.
    pub fn write(path: &Path, is_binary: bool, bytes: &[u8]) -> anyhow::Result<()> {
        let mut product = Product::create(path, is_binary)?;
        product.write_all(bytes).with_context(|| format!("failed to write `{}`", path.display()))?;
        product.finish()
    }

    /// The product's name for messages.
    pub fn name(&self) -> String {
        if self.path == Path::new("-") { "stdout".to_owned() } else { self.path.display().to_string() }
    }

    /// A second handle to the file, for callers that need to own a writer.
    pub fn writer(&self) -> io::Result<BufWriter<File>> {
        match self.out.get_ref() {
            Out::File(file) => Ok(BufWriter::with_capacity(BUFFER, file.try_clone()?)),
            Out::Stdout(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Puts the file into its place. Without this call it is deleted.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let failed = format!("failed to write `{}`", self.name());
        self.out.flush().with_context(|| failed.clone())?;
        if let Some(Pending { beside, target }) = self.pending.take() {
            fs::rename(&beside, &target)
                .inspect_err(|_| _ = fs::remove_file(&beside))
                .with_context(|| failed)?;
        }
        Ok(())
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        if let Some(Pending { beside, .. }) = &self.pending {
            // A temporary file that can't be deleted stays.
            let _ = fs::remove_file(beside);
        }
    }
}

impl Write for Product {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::File(file) => file.write(bytes),
            Out::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::File(file) => file.flush(),
            Out::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// Refuses an output that is one of the inputs: a trace that is overwritten can't be recorded again.
pub fn keep(input: &Path, output: &Path) -> anyhow::Result<()> {
    if is_same(input, output) {
        bail!("`{}` is an input and would be overwritten; name another file with -o", output.display());
    }
    Ok(())
}

/// Whether two paths lead to one file.
pub fn is_same(a: &Path, b: &Path) -> bool {
    // A terminal or a device can be input and output at once.
    a.is_file() && matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Opens the file to write. If that is a temporary file, also returns it and the file that it replaces.
fn begin(path: &Path) -> io::Result<(File, Option<Pending>)> {
    let Some(target) = replaceable(path)? else { return Ok((File::create(path)?, None)) };
    let before = fs::metadata(&target).ok();
    if before.is_some() {
        // A user who may not write the file must not be able to replace it.
        OpenOptions::new().write(true).open(&target)?;
    }
    match create_beside(&target) {
        Ok((file, beside)) => {
            if let Some(before) = before {
                // If the permissions can't be kept, the file has a new file's.
                let _ = file.set_permissions(before.permissions());
            }
            Ok((file, Some(Pending { beside, target })))
        }
        // The user may be allowed to write this file, but not to make a file beside it.
        Err(error) if before.is_some() && error.kind() == ErrorKind::PermissionDenied => {
            Ok((File::create(path)?, None))
        }
        Err(error) => Err(error),
    }
}

/// The file that can be replaced: the one that the path leads to, over symbolic links. `None` if it is no regular file, or one
/// that a process has open (`/dev/stdout`).
fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let special = ["/dev", "/proc"].iter().any(|folder| target.starts_with(folder));
        match fs::symlink_metadata(&target) {
            _ if special => return Ok(None),
            Ok(metadata) if metadata.is_symlink() => {
                let to = fs::read_link(&target)?;
                target = target.parent().unwrap_or(Path::new("")).join(to);
            }
            Ok(metadata) if metadata.is_file() => return Ok(Some(target)),
            Ok(_) => return Ok(None),
            // The file doesn't exist yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(target)),
            Err(error) => return Err(error),
        }
    }
    // Too many links, or a loop. Opening the path gives the error.
    Ok(None)
}

fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    // File names have a limit of length. The beginning is enough to recognise the file.
    let name: String = name.chars().take(40).collect();
    let mut taken = ErrorKind::AlreadyExists.into();
    for n in 0..MAX_NAMES {
        let beside = target.with_file_name(format!(".{name}.{}-{n}.part", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}
