//! How a step of a script ends, and whether the script expects that.

use super::probes::Probes;
use super::script::Expected;
use super::values;
use wasmtime::{Store, Trap, Val};

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether the script expects this.
    pub(crate) passed: bool,
    /// What happened, in words that don't depend on how the module was encoded.
    pub(crate) text: String,
}

/// How a call or an instantiation ended.
pub(crate) enum End {
    Returned(Vec<Val>),
    Trapped(Trap),
    /// An exception left the guest, with these values.
    Threw(String),
    /// A module can't be compiled or linked, or an export is missing.
    Failed(String),
}

/// The failure of a step whose module failed before.
pub(crate) const NO_INSTANCE: &str = "the instance isn't there";

/// The failure of a module at which the rewriter panicked.
pub(crate) const PANICKED: &str = "the rewriter panicked";

impl End {
    /// How a failed call or instantiation ended.
    pub(crate) fn of(error: &wasmtime::Error, store: &mut Store<Probes>) -> End {
        // A pending exception would be thrown into the next call.
        if let Some(exception) = store.take_pending_exception() {
            let fields: Vec<Val> = match exception.fields(&mut *store) {
                Ok(fields) => fields.collect(),
                Err(_) => Vec::new(),
            };
            return End::Threw(show(store, &fields));
        }
        match error.downcast_ref::<Trap>() {
            Some(trap) => End::Trapped(*trap),
            None => End::failed(error),
        }
    }

    /// The text of a failure, without numbers of offsets and of the engine's types, which no script expects.
    pub(crate) fn failed(error: &wasmtime::Error) -> End {
        let text = error.root_cause().to_string();
        let mut words = text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for n in 1..words.len() {
            if matches!(words[n - 1].trim_start_matches('('), "engine" | "offset") {
                words[n] =
                    words[n].trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == 'x').to_owned();
                words[n].insert(0, '_');
            }
        }
        End::Failed(words.join(" "))
    }

    pub(crate) fn outcome(self, expected: &Expected<'_>, store: &mut Store<Probes>) -> Outcome {
        let passed = match (&self, expected) {
            (End::Returned(_), Expected::End) => true,
            (End::Returned(values), Expected::Return(expected)) => {
                let matching = |(value, expected)| values::matches(store, value, expected);
                values.len() == expected.len() && values.iter().zip(expected).all(matching)
            }
            (End::Trapped(trap), Expected::Trap(message) | Expected::Exhaustion(message)) => {
                is_trap(*trap, message)
            }
            (End::Threw(_), Expected::Exception) => true,
            (End::Failed(text), Expected::Unlinkable) => text != NO_INSTANCE,
            _ => false,
        };
        let text = match self {
            End::Returned(values) => format!("returned {}", show(store, &values)),
            End::Trapped(trap) => format!("trap: {trap}"),
            End::Threw(values) => format!("threw {values}"),
            End::Failed(text) => text,
        };
        Outcome { passed, text }
    }
}

fn show(store: &Store<Probes>, values: &[Val]) -> String {
    values.iter().map(|value| values::show(store, value)).collect::<Vec<_>>().join(" ")
}

/// Whether wasmtime's message means the script's. The differences are those that wasmtime's own runner allows.
fn is_trap(trap: Trap, message: &str) -> bool {
    let text = trap.to_string();
    text.contains(message)
        || (message.starts_with("uninitialized element") && text.contains("uninitialized element"))
        || (message.contains("null function") && text.contains("uninitialized element"))
        || (message.contains("null") && message.contains("reference") && text.contains("null reference"))
}
