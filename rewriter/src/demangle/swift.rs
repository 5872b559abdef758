//! Names of Swift. Only its own demangler knows them all, and that is C++: it is there with the feature `swift`. Some names that
//! no compiler makes it answers by an assertion, which ends the program.

/// How names begin since Swift 5, since 4, and of its embedded form. Each may have a `_` before it.
const PREFIXES: [&str; 3] = ["$s", "$S", "$e"];
/// The longest name that is tried.
#[cfg(feature = "swift")]
const MAX_LENGTH: usize = 1 << 12;

/// Whether a name is mangled as Swift's are.
pub(crate) fn is_mangled(name: &str) -> bool {
    let name = name.strip_prefix('_').unwrap_or(name);
    // What it is of stands in large letters: `$start` is none.
    PREFIXES.iter().filter_map(|prefix| name.strip_prefix(prefix)).any(|rest| {
        rest.bytes().any(|byte| byte.is_ascii_uppercase())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$.@".contains(&byte))
    })
}

#[cfg(not(feature = "swift"))]
pub(super) fn demangle(_: &str) -> Option<String> {
    None
}

#[cfg(feature = "swift")]
pub(super) fn demangle(name: &str) -> Option<String> {
    if name.len() > MAX_LENGTH {
        return None;
    }
    let demangled = deep::demangle(name)?;
    // What is no name is given back.
    (demangled != name && demangled.len() <= 16 * name.len() + 512).then_some(demangled)
}

/// Swift's demangler calls itself for each level of a name, hundreds deep: it has a thread with a stack for that.
#[cfg(feature = "swift")]
mod deep {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Mutex, OnceLock, PoisonError};
    use symbolic_common::{Language, Name, NameMangling};
    use symbolic_demangle::{Demangle, DemangleOptions};

    const STACK: usize = 256 << 20;

    type Job = (String, Sender<Option<String>>);

    fn start() -> Option<Mutex<Sender<Job>>> {
        let (jobs, wanted) = channel::<Job>();
        let work = move || {
            for (name, answer) in wanted {
                let options = DemangleOptions::name_only().parameters(true);
                let name = Name::new(name, NameMangling::Mangled, Language::Swift);
                // Whoever asked may be gone.
                let _ = answer.send(name.demangle(options));
            }
        };
        std::thread::Builder::new().stack_size(STACK).spawn(work).ok()?;
        Some(Mutex::new(jobs))
    }

    pub(super) fn demangle(name: &str) -> Option<String> {
        static THREAD: OnceLock<Option<Mutex<Sender<Job>>>> = OnceLock::new();
        let jobs = THREAD.get_or_init(start).as_ref()?;
        let (answer, answered) = channel();
        jobs.lock().unwrap_or_else(PoisonError::into_inner).send((name.to_owned(), answer)).ok()?;
        answered.recv().ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_swift_are_told_from_others() {
        for name in ["$s4main3fooyyF", "_$s4main3fooyyF", "$S1a1bC", "$e4main3fooyyF"] {
            assert!(is_mangled(name), "{name}");
        }
        for name in ["$s", "_$s", "s4main", "$start", "$eval", "__$s4mainC", "_Z1fv", "$s f()C", "$", ""] {
            assert!(!is_mangled(name), "{name}");
        }
    }

    /// Without the demangler they stay as they are.
    #[test]
    #[cfg(not(feature = "swift"))]
    fn they_stay_mangled() {
        assert_eq!(crate::demangle::demangle("$s4main3fooyyF"), None);
    }

    /// A name made by hand after the rules of Swift's `docs/ABI/Mangling.rst`; what it comes to is as its demangler has it.
    #[test]
    #[cfg(feature = "swift")]
    fn known_names() {
        let cases = [("$s4main3fooyyF", Some("foo()"))];
        for (mangled, expected) in cases {
            assert_eq!(crate::demangle::demangle(mangled).as_deref(), expected, "{mangled}");
        }
    }

    /// Each level of a name takes some of the stack: this one took more than a thread's two megabytes.
    #[test]
    #[cfg(feature = "swift")]
    fn deep_names() {
        for unit in ["Z", "ySi", "Sg", "C"] {
            let name = format!("$sySilySi{}", unit.repeat(1_000));
            assert!(
                demangle(&name).is_none_or(|demangled| demangled.len() <= 16 * name.len() + 512),
                "{unit}"
            );
        }
    }
}
