//! Cells of rows as values of Parquet's columns.

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::record::Field;
use std::io::Write;

/// The type of a row's field.
pub(crate) trait Cell: Sized {
    /// The column in the language of Parquet, with `NAME` for its name.
    const COLUMN: &'static str;
    /// The column's physical type.
    type Type: DataType;

    /// Adds the cell to its column.
    fn put(&self, column: &mut Column<Self::Type>);

    /// Reads the cell. A field of another type counts as 0 or as missing.
    fn take(field: Option<&Field>) -> Self;

    /// The cell as a value to compare.
    fn value(&self) -> Value;
}

/// A value to compare. Both sides of a comparison have one kind, or one is missing.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A missing value.
    Missing,
}

/// The cells of a column in a row group.
pub(crate) struct Column<T: DataType> {
    values: Vec<T::T>,
    /// Definition levels of columns that may lack values.
    defined: Vec<i16>,
    /// Repetition levels of lists.
    repeated: Vec<i16>,
}

/// Writes the next column of a group.
pub(crate) fn write<'a, C: Cell + 'a>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    cells: impl Iterator<Item = &'a C>,
) -> Result<(), ParquetError> {
    let mut column = Column { values: Vec::new(), defined: Vec::new(), repeated: Vec::new() };
    cells.for_each(|cell| cell.put(&mut column));
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".into()));
    };
    let levels = |levels: Vec<i16>| Some(levels).filter(|levels| !levels.is_empty());
    let (defined, repeated) = (levels(column.defined), levels(column.repeated));
    writer.typed::<C::Type>().write_batch(&column.values, defined.as_deref(), repeated.as_deref())?;
    writer.close()
}

/// A field's type, its column, its physical type, and conversions from and to these.
macro_rules! cell {
    ($of:ty, $column:literal, $type:ty, $put:expr, $field:pat => $take:expr, $value:expr) => {
        impl Cell for $of {
            const COLUMN: &'static str = concat!("required ", $column);
            type Type = $type;

            fn put(&self, column: &mut Column<$type>) {
                column.values.push($put(self));
            }

            fn take(field: Option<&Field>) -> $of {
                <Option<$of> as Cell>::take(field).unwrap_or_default()
            }

            fn value(&self) -> Value {
                $value(self)
            }
        }

        impl Cell for Option<$of> {
            const COLUMN: &'static str = concat!("optional ", $column);
            type Type = $type;

            fn put(&self, column: &mut Column<$type>) {
                column.defined.push(i16::from(self.is_some()));
                column.values.extend(self.as_ref().map($put));
            }

            fn take(field: Option<&Field>) -> Option<$of> {
                match field {
                    Some($field) => $take,
                    _ => None,
                }
            }

            fn value(&self) -> Value {
                self.as_ref().map_or(Value::Missing, $value)
            }
        }
    };
}

cell!(bool, "boolean NAME;", BoolType, bool::clone, Field::Bool(value) => Some(*value), |value: &bool| Value::Flag(*value));
cell!(i32, "int32 NAME;", Int32Type, i32::clone, Field::Int(value) => Some(*value), |value: &i32| Value::Number(f64::from(*value)));
cell!(
    i64, "int64 NAME;", Int64Type, i64::clone,
    Field::Long(value) | Field::TimestampMicros(value) => Some(*value),
    |value: &i64| Value::Number(*value as f64)
);
// A count is at most 2^63 - 1, and never negative.
cell!(
    u64, "int64 NAME;", Int64Type, |value: &u64| i64::try_from(*value).unwrap_or(i64::MAX),
    Field::Long(value) => u64::try_from(*value).ok(),
    |value: &u64| Value::Number(*value as f64)
);
cell!(f64, "double NAME;", DoubleType, f64::clone, Field::Double(value) => Some(*value), |value: &f64| Value::Number(*value));
cell!(
    String, "binary NAME (UTF8);", ByteArrayType, |value: &String| ByteArray::from(value.as_str()),
    Field::Str(value) => Some(value.clone()),
    |value: &String| Value::Text(value.clone())
);

/// The same of a list.
macro_rules! list {
    ($of:ty, $column:literal, $type:ty) => {
        impl Cell for Vec<$of> {
            const COLUMN: &'static str = concat!(
                "required group NAME (LIST) { repeated group list { required ",
                $column,
                " element; } }"
            );
            type Type = $type;

            fn put(&self, column: &mut Column<$type>) {
                column.values.extend(self);
                if self.is_empty() {
                    column.defined.push(0);
                    column.repeated.push(0);
                }
                for n in 0..self.len() {
                    column.defined.push(1);
                    column.repeated.push(i16::from(n > 0));
                }
            }

            fn take(field: Option<&Field>) -> Vec<$of> {
                match field {
                    Some(Field::ListInternal(list)) => {
                        list.elements().iter().map(|field| Cell::take(Some(field))).collect()
                    }
                    _ => Vec::new(),
                }
            }

            fn value(&self) -> Value {
                Value::Missing
            }
        }
    };
}

list!(i32, "int32", Int32Type);
list!(i64, "int64", Int64Type);
