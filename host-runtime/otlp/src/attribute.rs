//! Attributes as messages.

use crate::proto::common::v1::any_value::Value;
use crate::proto::common::v1::{AnyValue, ArrayValue, KeyValue};

/// An attribute with a string.
pub(crate) fn string(key: &str, text: &str) -> KeyValue {
    attribute(key, Value::StringValue(text.to_owned()))
}

/// An attribute with an integer.
pub(crate) fn int(key: &str, number: u64) -> KeyValue {
    attribute(key, Value::IntValue(number.min(i64::MAX as u64) as i64))
}

/// An attribute that is true.
pub(crate) fn truth(key: &str) -> KeyValue {
    attribute(key, Value::BoolValue(true))
}

/// An attribute with a number.
pub(crate) fn double(key: &str, number: f64) -> KeyValue {
    attribute(key, Value::DoubleValue(number))
}

/// An attribute with an array of strings.
pub(crate) fn strings(key: &str, texts: &[String]) -> KeyValue {
    let values = texts.iter().map(|text| AnyValue { value: Some(Value::StringValue(text.clone())) });
    attribute(key, Value::ArrayValue(ArrayValue { values: values.collect() }))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), key_strindex: 0 }
}
