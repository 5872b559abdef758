//! Rows as Parquet, and back.

use crate::tables::cell::Value;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

/// The version of the tables. A reader refuses a dataset of another major version.
pub const VERSION: (u32, u32) = (1, 0);

/// How many rows a row group has at most.
const GROUP: usize = 1 << 16;

/// A row of a table. All functions have the columns in the order of the schema.
pub trait TableRow: Sized {
    /// The name of the table, which is the name of its folder.
    const NAME: &'static str;
    /// The names of the columns.
    const COLUMNS: &'static [&'static str];

    /// The schema, in the language of Parquet.
    fn schema() -> String;

    /// Writes the columns of a row group.
    fn write(
        rows: &[Self],
        group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> Result<(), ParquetError>;

    /// Reads a row.
    fn take<'a>(fields: impl Iterator<Item = &'a Field>) -> Self;

    /// The value of a column.
    fn value(&self, column: &str) -> Value;
}

/// Writes rows as a Parquet file. Fails where writing does.
pub fn write<T: TableRow>(rows: &[T], out: impl Write + Send) -> io::Result<()> {
    let mut writer = Writer::of::<T>(out)?;
    rows.chunks(GROUP).try_for_each(|rows| writer.write(rows))?;
    writer.finish()
}

/// A Parquet file that is being written, group by group.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file of a table.
    pub fn of<T: TableRow>(out: W) -> io::Result<Writer<W>> {
        let schema = Arc::new(parse_message_type(&T::schema()).map_err(failed)?);
        let properties = WriterProperties::builder()
            .set_compression(compression().map_err(failed)?)
            .set_created_by(format!("kperf-wasm {}", env!("CARGO_PKG_VERSION")));
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties.build())).map_err(failed)?;
        Ok(Writer { file })
    }

    /// Writes rows as a group.
    pub fn write<T: TableRow>(&mut self, rows: &[T]) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(failed)?;
        T::write(rows, &mut group).map_err(failed)?;
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Ends the file.
    pub fn finish(self) -> io::Result<()> {
        self.file.close().map_err(failed)?;
        Ok(())
    }
}

/// How columns are packed.
fn compression() -> Result<Compression, ParquetError> {
    Ok(Compression::ZSTD(parquet::basic::ZstdLevel::try_new(3)?))
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

/// Reads the rows of a Parquet file, one by one. Fails if it is damaged, or lacks a column of the table.
pub fn read<T: TableRow, R: ChunkReader + 'static>(
    input: R,
    mut each: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    let bad = |error: ParquetError| io::Error::new(ErrorKind::InvalidData, error);
    let reader = SerializedFileReader::new(input).map_err(bad)?;
    let schema = parse_message_type(&T::schema()).map_err(failed)?;
    let has = reader.metadata().file_metadata().schema();
    for field in schema.get_fields() {
        let known = has.get_fields().iter().find(|known| known.name() == field.name());
        if known.is_none_or(|known| known != field) {
            let what = format!("it has no column `{}` as the table `{}` has", field.name(), T::NAME);
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
    }
    for row in reader.get_row_iter(Some(schema)).map_err(bad)? {
        let row = row.map_err(bad)?;
        each(T::take(row.get_column_iter().map(|(_, field)| field)))?;
    }
    Ok(())
}
