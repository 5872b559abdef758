//! Where a trace's bytes go.

use std::any::Any;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};

/// A sink of the embedder's.
pub(crate) trait Sink: Write + Send + Any {}

impl<S: Write + Send + Any> Sink for S {}

/// Gives chunks to a sink, each whole or not at all where the sink is a file. What else may be left of a chunk that failed midway
/// is passed over by readers.
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
    /// Takes back what was written last. Pipes and other sinks keep it.
    fn take_back(&mut self, bytes: usize) {
        let Some(file) = (&mut *self.0 as &mut dyn Any).downcast_mut::<File>().filter(|_| bytes > 0) else {
            return;
        };
        // If that fails too, readers have to pass over it.
        let _ = file.seek(SeekFrom::Current(-(bytes as i64))).and_then(|end| file.set_len(end));
    }
}
