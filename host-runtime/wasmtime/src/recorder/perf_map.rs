//! Names of compiled functions for other profilers: `/tmp/perf-PID.map`.
//!
//! * A line has a function's address and length, both hexadecimal, and its name: the rest of the line.
//! * Profilers read the file after the program has ended, so it stays, as other JITs' files do.

use super::handle::Recorder;
use crate::error::{ErrorKind, Result};
use crate::functions::by_index;
use kperf_abi::SymbolTable;
#[cfg(feature = "component-model")]
use kperf_abi::symbols::Symbol;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
#[cfg(feature = "component-model")]
use wasmtime::component::Component;
use wasmtime::{Module, ModuleFunction};

/// The file of this process, and the process: a child made by `fork` begins its own.
static FILE: Mutex<Option<(u32, File)>> = Mutex::new(None);

impl Recorder {
    /// Adds the functions of a compiled module to `/tmp/perf-PID.map`, where `perf`, profilers that use eBPF, Parca and Pyroscope look
    /// for the names of code that was compiled while the program ran. It needs no recording: any module has names, one with
    /// probes too. Wasmtime's code keeps frame pointers, so `perf record --call-graph fp` finds callers.
    ///
    /// `table` is the symbol table of the module ([`symbols`](crate::symbols)), for demangled names. Functions that aren't in it have the
    /// names of the module's own name section.
    ///
    /// A module that is dropped keeps its lines, and another one may get its addresses: then profilers may show either name.
    ///
    /// The first call in a process makes the file, in place of one with this name. Later calls append. It stays when the process ends.
    ///
    /// ```no_run
    /// # use kperf_wasmtime::Recorder;
    /// # fn named(engine: &wasmtime::Engine, bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    /// let module = wasmtime::Module::new(engine, bytes)?;
    /// Recorder::perf_map(&module, kperf_wasmtime::symbols(bytes))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the bytes are not a symbol table, or if the file can't be written.
    pub fn perf_map(module: &Module, table: Option<&[u8]>) -> Result<()> {
        let table = table.map(SymbolTable::from_bytes).transpose().map_err(ErrorKind::Symbols)?;
        let names = table.iter().flat_map(|table| {
            by_index(module, table).map(|(index, symbol)| (index, symbol.display_name().to_owned()))
        });
        let names: HashMap<u32, String> = names.collect();
        let name = |function: &ModuleFunction| names.get(&function.index.as_u32()).cloned();
        add(module.text(), module.functions(), name)
    }

    /// [`perf_map`](Recorder::perf_map) for a component, with the symbol tables of its modules. Functions are found by their names in
    /// the modules; those without a name there have their index.
    ///
    /// # Errors
    ///
    /// If the bytes are not a symbol table, or if the file can't be written.
    #[cfg(feature = "component-model")]
    pub fn perf_map_component<'a>(
        component: &Component,
        tables: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<()> {
        let mut names = HashMap::new();
        for table in tables {
            let table = SymbolTable::from_bytes(table).map_err(ErrorKind::Symbols)?;
            let demangled = |symbol: Symbol| Some((symbol.name, symbol.demangled?));
            names.extend(table.symbols.into_iter().filter_map(demangled));
        }
        let name =
            |function: &ModuleFunction| names.get(function.name.as_deref()?).map(|name| name.to_string());
        add(component.text(), component.functions(), name)
    }
}

/// Appends the lines of functions. Those without a name of ours have the engine's.
fn add(
    text: &[u8],
    functions: impl Iterator<Item = ModuleFunction>,
    name: impl Fn(&ModuleFunction) -> Option<String>,
) -> Result<()> {
    let begin = text.as_ptr() as usize;
    let mut lines = String::new();
    for function in functions.filter(|function| function.len > 0) {
        let name = name(&function).or_else(|| function.name.clone()).filter(|name| !name.trim().is_empty());
        let name = name.unwrap_or_else(|| format!("func[{}]", function.index.as_u32()));
        let _ = writeln!(lines, "{:x} {:x} {}", begin + function.offset, function.len, in_a_line(&name));
    }
    append(lines.as_bytes()).map_err(|error| ErrorKind::PerfMap(error).into())
}

/// A name without anything that ends a line or is invisible in it.
fn in_a_line(name: &str) -> String {
    name.trim().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn append(lines: &[u8]) -> io::Result<()> {
    let process = std::process::id();
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, file) = match file.take().filter(|(of, _)| *of == process) {
        Some(kept) => file.insert(kept),
        None => file.insert((process, create(process)?)),
    };
    file.write_all(lines)
}

/// Makes the file. Anybody may have put a link with its name into the folder: it is removed, never followed.
fn create(process: u32) -> io::Result<File> {
    let path = format!("/tmp/perf-{process}.map");
    if let Err(error) = fs::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(in_a_line("a\n7f00 10 b\r\t\u{85}c \0"), "a?7f00 10 b???c ?");
        assert_eq!(in_a_line(" Vec<u8, A>::push(T) "), "Vec<u8, A>::push(T)");
    }
}
