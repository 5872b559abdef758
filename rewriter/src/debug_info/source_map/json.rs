//! JSON of limited size in memory: a list of a hundred million empty strings is a small file.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::fmt;

/// How many values a document may have. One takes some hundred bytes.
const MAX_VALUES: usize = 1 << 21;

/// Reads an object.
///
/// # Errors
///
/// What is wrong with it, for people.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let room = Cell::new(MAX_VALUES);
    let mut input = serde_json::Deserializer::from_slice(bytes);
    let value = Limited(&room).deserialize(&mut input).and_then(|value| input.end().map(|()| value));
    match value {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A value, as long as there is room for it.
struct Limited<'r>(&'r Cell<usize>);

impl<'de> DeserializeSeed<'de> for Limited<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        match self.0.get().checked_sub(1) {
            Some(room) => self.0.set(room),
            None => return Err(D::Error::custom(format!("it has more than {MAX_VALUES} values"))),
        }
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Limited<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Limited(self.0))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Limited(self.0))?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_as_they_are_and_large_ones_refused() {
        let text = r#"{"a": [1, -2, 0.5, "x", null, true], "b": {"c": ""}}"#;
        let plain: Value = serde_json::from_str(text).unwrap();
        assert_eq!(object(text.as_bytes()).map(Value::Object), Ok(plain));
        let long = format!(r#"{{"a": [{}0]}}"#, "0,".repeat(MAX_VALUES));
        assert!(object(long.as_bytes()).unwrap_err().starts_with("it has more than 2097152 values"));
        for broken in ["", "[]", "{", "{} {}", "{\"a\"}"] {
            object(broken.as_bytes()).unwrap_err();
        }
        object("[".repeat(100_000).as_bytes()).unwrap_err();
    }
}
