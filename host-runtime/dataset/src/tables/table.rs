//! Rows as Parquet, and back.

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

/// The version of the tables. A reader refuses a dataset of another major version.
pub const VERSION: (u32, u32) = (1, 0);

/// How many rows a row group has at most.
const GROUP: usize = 1 << 16;

/// A row of a table. `put` and `get` have its cells in the order of the schema.
pub trait TableRow: Sized {
    /// The name of the table, which is the name of its folder.
    const NAME: &'static str;
    /// The columns, in the language of Parquet.
    const SCHEMA: &'static str;

    /// Tells the cells.
    fn put(&self, cells: &mut Cells);

    /// Takes the cells.
    fn get(cells: &mut Taken<'_>) -> Self;
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
        let schema = Arc::new(parse_message_type(T::SCHEMA).map_err(failed)?);
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
        let mut cells = Cells::default();
        for row in rows {
            cells.next = 0;
            row.put(&mut cells);
        }
        let mut group = self.file.next_row_group().map_err(failed)?;
        cells.columns.iter().try_for_each(|column| column.write(&mut group)).map_err(failed)?;
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
    let schema = parse_message_type(T::SCHEMA).map_err(failed)?;
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
        each(T::get(&mut Taken { row: &row, next: 0 }))?;
    }
    Ok(())
}

/// The columns of a group that grow.
#[derive(Default)]
pub struct Cells {
    columns: Vec<Column>,
    next: usize,
}

/// The values of a column, and for those that may lack values which rows have one.
enum Column {
    Flag(Vec<bool>),
    Int(Vec<i32>),
    Long(Vec<i64>, Option<Vec<i16>>),
    Double(Vec<f64>, Option<Vec<i16>>),
    Text(Vec<ByteArray>, Option<Vec<i16>>),
    /// With definition and repetition levels.
    Ints(Vec<i32>, Vec<i16>, Vec<i16>),
    Longs(Vec<i64>, Vec<i16>, Vec<i16>),
}

macro_rules! put {
    ($cells:ident, $new:expr, $column:pat => $push:expr) => {{
        if $cells.next == $cells.columns.len() {
            $cells.columns.push($new);
        }
        if let Some($column) = $cells.columns.get_mut($cells.next) {
            $push;
        }
        $cells.next += 1;
    }};
}

/// Adds a value that may be missing.
fn optional<T>(values: &mut Vec<T>, known: &mut Option<Vec<i16>>, value: Option<T>) {
    known.get_or_insert_default().push(i16::from(value.is_some()));
    values.extend(value);
}

/// Adds a list.
fn list<T: Copy>(values: &mut Vec<T>, defined: &mut Vec<i16>, repeated: &mut Vec<i16>, list: &[T]) {
    if list.is_empty() {
        defined.push(0);
        repeated.push(0);
    }
    for (n, value) in list.iter().enumerate() {
        values.push(*value);
        defined.push(1);
        repeated.push(i16::from(n > 0));
    }
}

impl Cells {
    /// `required boolean`
    pub fn flag(&mut self, value: bool) {
        put!(self, Column::Flag(Vec::new()), Column::Flag(values) => values.push(value));
    }

    /// `required int32`
    pub fn int(&mut self, value: i32) {
        put!(self, Column::Int(Vec::new()), Column::Int(values) => values.push(value));
    }

    /// `required int64`
    pub fn long(&mut self, value: i64) {
        put!(self, Column::Long(Vec::new(), None), Column::Long(values, _) => values.push(value));
    }

    /// `required int64` of a count, which is at most 2^63 - 1.
    pub fn count(&mut self, value: u64) {
        self.long(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// `optional int64`
    pub fn optional_long(&mut self, value: Option<i64>) {
        put!(self, Column::Long(Vec::new(), None), Column::Long(values, known) => optional(values, known, value));
    }

    /// `required double`
    pub fn double(&mut self, value: f64) {
        put!(self, Column::Double(Vec::new(), None), Column::Double(values, _) => values.push(value));
    }

    /// `optional double`
    pub fn optional_double(&mut self, value: Option<f64>) {
        put!(self, Column::Double(Vec::new(), None), Column::Double(values, known) => optional(values, known, value));
    }

    /// `required binary (UTF8)`
    pub fn text(&mut self, value: &str) {
        put!(self, Column::Text(Vec::new(), None), Column::Text(values, _) => values.push(ByteArray::from(value)));
    }

    /// `optional binary (UTF8)`
    pub fn optional_text(&mut self, value: Option<&str>) {
        let value = value.map(ByteArray::from);
        put!(self, Column::Text(Vec::new(), None), Column::Text(values, known) => optional(values, known, value));
    }

    /// A required list of `required int32`.
    pub fn ints(&mut self, value: &[i32]) {
        put!(self, Column::Ints(Vec::new(), Vec::new(), Vec::new()), Column::Ints(values, defined, repeated) => list(values, defined, repeated, value));
    }

    /// A required list of `required int64`.
    pub fn longs(&mut self, value: &[i64]) {
        put!(self, Column::Longs(Vec::new(), Vec::new(), Vec::new()), Column::Longs(values, defined, repeated) => list(values, defined, repeated, value));
    }
}

impl Column {
    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        match self {
            Column::Flag(values) => column::<BoolType, _>(group, values, None, None),
            Column::Int(values) => column::<Int32Type, _>(group, values, None, None),
            Column::Long(values, known) => column::<Int64Type, _>(group, values, known.as_deref(), None),
            Column::Double(values, known) => column::<DoubleType, _>(group, values, known.as_deref(), None),
            Column::Text(values, known) => column::<ByteArrayType, _>(group, values, known.as_deref(), None),
            Column::Ints(values, defined, repeated) => {
                column::<Int32Type, _>(group, values, Some(defined), Some(repeated))
            }
            Column::Longs(values, defined, repeated) => {
                column::<Int64Type, _>(group, values, Some(defined), Some(repeated))
            }
        }
    }
}

fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    defined: Option<&[i16]>,
    repeated: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".into()));
    };
    column.typed::<T>().write_batch(values, defined, repeated)?;
    column.close()
}

/// The cells of a row that was read.
pub struct Taken<'a> {
    row: &'a Row,
    next: usize,
}

impl Taken<'_> {
    fn field(&mut self) -> Option<&Field> {
        let at = self.next;
        self.next += 1;
        self.row.get_column_iter().nth(at).map(|(_, field)| field)
    }

    /// A flag.
    pub fn flag(&mut self) -> bool {
        matches!(self.field(), Some(Field::Bool(true)))
    }

    /// A number of 32 bits.
    pub fn int(&mut self) -> i32 {
        match self.field() {
            Some(Field::Int(value)) => *value,
            _ => 0,
        }
    }

    /// A number of 64 bits.
    pub fn long(&mut self) -> i64 {
        self.optional_long().unwrap_or(0)
    }

    /// A count; 0 if it is negative.
    pub fn count(&mut self) -> u64 {
        u64::try_from(self.long()).unwrap_or(0)
    }

    /// A number of 64 bits that may be missing.
    pub fn optional_long(&mut self) -> Option<i64> {
        match self.field() {
            Some(Field::Long(value) | Field::TimestampMicros(value)) => Some(*value),
            _ => None,
        }
    }

    /// A fraction.
    pub fn double(&mut self) -> f64 {
        self.optional_double().unwrap_or(0.0)
    }

    /// A fraction that may be missing.
    pub fn optional_double(&mut self) -> Option<f64> {
        match self.field() {
            Some(Field::Double(value)) => Some(*value),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&mut self) -> String {
        self.optional_text().unwrap_or_default()
    }

    /// A text that may be missing.
    pub fn optional_text(&mut self) -> Option<String> {
        match self.field() {
            Some(Field::Str(value)) => Some(value.clone()),
            _ => None,
        }
    }

    /// A list of numbers of 32 bits.
    pub fn ints(&mut self) -> Vec<i32> {
        let number = |field: &Field| if let Field::Int(value) = field { *value } else { 0 };
        match self.field() {
            Some(Field::ListInternal(list)) => list.elements().iter().map(number).collect(),
            _ => Vec::new(),
        }
    }

    /// A list of numbers of 64 bits.
    pub fn longs(&mut self) -> Vec<i64> {
        let number = |field: &Field| if let Field::Long(value) = field { *value } else { 0 };
        match self.field() {
            Some(Field::ListInternal(list)) => list.elements().iter().map(number).collect(),
            _ => Vec::new(),
        }
    }
}
