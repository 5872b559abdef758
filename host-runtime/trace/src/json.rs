//! The JSON of a trace's first and last chunk. A field with an invalid value affects only itself.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads an object whose fields all have defaults. A field with an invalid value counts as missing, and its name is returned;
/// `null` counts as missing. `None` if the bytes are not a JSON object.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Option<(T, Vec<String>)> {
    if let Ok(read) = serde_json::from_slice(json) {
        return Some((read, Vec::new()));
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(json) else { return None };
    // As text again: a second way to read each type would make JavaScript's core an eighth larger.
    let parsed = |value: Value| serde_json::from_slice::<T>(value.to_string().as_bytes()).ok();
    let mut bad = Vec::new();
    fields.retain(|name, value| {
        let fits = |value: &Value| parsed(Value::from_iter([(name.clone(), value.clone())])).is_some();
        if fits(value) || value.is_null() {
            return !value.is_null();
        }
        let mut bad_inside = Vec::new();
        if let Value::Object(inside) = value {
            inside.retain(|inner, value| {
                let keep = fits(&Value::from_iter([(inner.clone(), value.clone())]));
                if !keep && !value.is_null() {
                    bad_inside.push(format!("{name}.{inner}"));
                }
                keep
            });
            if fits(value) {
                bad.append(&mut bad_inside);
                return true;
            }
        }
        bad.push(name.clone());
        false
    });
    Some((parsed(Value::Object(fields))?, bad))
}
