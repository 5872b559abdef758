//! A row per call, as Apache Parquet, for DuckDB, ClickHouse, Spark and the like.
//!
//! The columns are the same as in the format `csv`.

use kperf_abi::FuncId;
use kperf_profile::{CallFilter, CallSink, Exported, ListedCall, Symbols, Unit, is_stand_in, list_calls};
use kperf_trace::{LaneId, TraceReader};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use rustc_hash::FxHashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

const SCHEMA: &str = "message calls {
    required int64 id (INTEGER(64,false));
    required int64 parent (INTEGER(64,false));
    required binary lane (UTF8);
    required int32 depth (INTEGER(32,false));
    optional int32 function (INTEGER(32,false));
    required binary name (UTF8);
    required int64 start_nanos (INTEGER(64,true));
    required int64 duration_nanos (INTEGER(64,false));
    optional int64 self_nanos (INTEGER(64,false));
    required binary ending (UTF8);
}";

/// How many rows are kept before they are written: some 20 MB.
const ROWS: usize = 1 << 18;

/// Writes the calls of a trace that a filter lets through, while it is read.
///
/// Fails where reading or writing does; `progress` gets the number of bytes read.
pub fn write_calls<R: Read, W: Write + Send>(
    reader: TraceReader<R>,
    filter: &CallFilter<'_>,
    out: W,
    mut progress: impl FnMut(u64),
) -> io::Result<Exported> {
    let schema = Unit::of(reader.header()).key(SCHEMA);
    let schema = Arc::new(parse_message_type(&schema).map_err(failed)?);
    let compression = Compression::ZSTD(ZstdLevel::try_new(1).map_err(failed)?);
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_created_by(format!("kperf-wasm {}", env!("CARGO_PKG_VERSION")));
    let file = SerializedFileWriter::new(out, schema, Arc::new(properties.build())).map_err(failed)?;
    let (texts, lanes) = (Texts::default(), FxHashMap::default());
    let rows = Rows { file, rows: Vec::new(), texts, lanes };
    let (mut rows, exported) = list_calls(reader, filter, rows, &mut progress)?;
    rows.write().map_err(failed)?;
    rows.file.close().map_err(failed)?;
    Ok(exported)
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

struct Rows<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Vec<ListedCall>,
    texts: Texts,
    lanes: FxHashMap<LaneId, ByteArray>,
}

/// Names of functions; copies share their bytes.
#[derive(Default)]
struct Texts(FxHashMap<FuncId, ByteArray>);

impl<W: Write + Send> CallSink for Rows<W> {
    fn call(&mut self, symbols: &Symbols, call: &ListedCall) -> io::Result<()> {
        self.texts.0.entry(call.func).or_insert_with(|| symbols.label(call.func).into_bytes().into());
        self.lanes.entry(call.lane).or_insert_with(|| call.lane.to_string().into_bytes().into());
        self.rows.push(*call);
        if self.rows.len() == ROWS { self.write().map_err(failed) } else { Ok(()) }
    }
}

impl<W: Write + Send> Rows<W> {
    /// Writes the rows that are kept as a group.
    fn write(&mut self) -> Result<(), ParquetError> {
        let (rows, empty) = (std::mem::take(&mut self.rows), ByteArray::from(Vec::new()));
        let mut group = self.file.next_row_group()?;
        let numbers =
            |value: fn(&ListedCall) -> u64| rows.iter().map(|call| value(call) as i64).collect::<Vec<_>>();
        let text = |text: Option<&ByteArray>| text.unwrap_or(&empty).clone();
        column::<Int64Type, _>(&mut group, &numbers(|call| call.id), None)?;
        column::<Int64Type, _>(&mut group, &numbers(|call| call.parent), None)?;
        let lanes: Vec<ByteArray> = rows.iter().map(|call| text(self.lanes.get(&call.lane))).collect();
        column::<ByteArrayType, _>(&mut group, &lanes, None)?;
        let depths: Vec<i32> = rows.iter().map(|call| call.depth as i32).collect();
        column::<Int32Type, _>(&mut group, &depths, None)?;
        let known: Vec<i16> = rows.iter().map(|call| i16::from(!is_stand_in(call.func))).collect();
        let known_rows = rows.iter().filter(|call| !is_stand_in(call.func));
        let functions: Vec<i32> = known_rows.map(|call| call.func.0 as i32).collect();
        column::<Int32Type, _>(&mut group, &functions, Some(&known))?;
        let names: Vec<ByteArray> = rows.iter().map(|call| text(self.texts.0.get(&call.func))).collect();
        column::<ByteArrayType, _>(&mut group, &names, None)?;
        column::<Int64Type, _>(&mut group, &numbers(|call| call.start_nanos as u64), None)?;
        column::<Int64Type, _>(&mut group, &numbers(|call| call.duration_nanos), None)?;
        let known: Vec<i16> = rows.iter().map(|call| i16::from(call.self_nanos.is_some())).collect();
        let self_time: Vec<i64> =
            rows.iter().filter_map(|call| call.self_nanos).map(|self_time| self_time as i64).collect();
        column::<Int64Type, _>(&mut group, &self_time, Some(&known))?;
        let ending = |call: &ListedCall| ByteArray::from(call.ending());
        column::<ByteArrayType, _>(&mut group, &rows.iter().map(ending).collect::<Vec<_>>(), None)?;
        group.close()?;
        self.texts.0.clear();
        self.rows = rows;
        self.rows.clear();
        Ok(())
    }
}

/// Writes the next column. For a column with optional values, `defined` says which rows have one.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    defined: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".into()));
    };
    column.typed::<T>().write_batch(values, defined, None)?;
    column.close()
}
