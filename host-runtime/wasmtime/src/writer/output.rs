//! Writes a trace's bytes to a sink.

use std::any::Any;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};

/// A sink of the embedder's.
pub(crate) trait Sink: Write + Send + Any {}

impl<S: Write + Send + Any> Sink for S {}

/// Writes chunks to a sink. If the sink is a file, a chunk is written whole or not at all. Otherwise readers skip the rest of a
/// failed chunk.
pub(crate) struct Output(pub(crate) Box<dyn Sink>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn write_all(&mut self, chunk: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < chunk.len() {
            let error = match self.0.write(&chunk[written..]) {
                Ok(0) => ErrorKind::WriteZero.into(),
                Ok(more) => {
                    written += more;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            self.take_back(written);
            return Err(error);
        }
        Ok(())
    }
}

impl Output {
    /// Takes back the last write. Pipes and other sinks keep it.
    fn take_back(&mut self, bytes: usize) {
        let Some(file) = (&mut *self.0 as &mut dyn Any).downcast_mut::<File>().filter(|_| bytes > 0) else {
            return;
        };
        // If that fails too, readers skip it.
        let _ = file.seek(SeekFrom::Current(-(bytes as i64))).and_then(|end| file.set_len(end));
    }
}
