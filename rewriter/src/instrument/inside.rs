//! A recorder in the program's own memory: its pages, their data, and the indices that bodies need.

use crate::error::{Error, ErrorKind};
use crate::instrument::parts::{PartIndices, Parts};
use crate::module::info::ModuleInfo;
use kperf_abi::tree::{CRC, FILE, PLACES, TEXT, TEXTS, Text, WINDOW};
use kperf_abi::{SymbolTable, names};
use wasm_encoder::{ConstExpr, Encode, Instruction, MemoryType};
use wasmparser::BinaryReader;

/// A recorder in the program's own memory, after the program's last page.
pub(crate) struct Inside {
    /// The memory with its pages.
    memory: MemoryType,
    pages: u32,
    base: u32,
    /// Its data: offset from the base, and bytes.
    data: [(u32, Vec<u8>); 2],
    /// How many segments the program's memory operators may name, if the module says it.
    pub(crate) segments: Option<u32>,
    grow: u32,
    /// After calls of host functions, which may grow the memory.
    after: u32,
    files: Option<Files>,
}

/// Functions of a recorder that writes files.
#[derive(Clone, Copy)]
struct Files {
    before: u32,
    abort: u32,
    exit: u32,
    /// The export `_start` goes to this one.
    command: u32,
}

const PAGE: u64 = 1 << 16;
/// Pages of a memory with 32-bit addresses.
const MAX_PAGES: u64 = 1 << 16;
const DATA_COUNT: u8 = wasm_encoder::SectionId::DataCount as u8;
/// The most bytes of a path: texts have a page's end.
const MAX_PATH: usize = 255;

/// The clocks of the header, equally long.
const CLOCKS: [&str; 2] =
    [r#""precise","source":"monotonic"        "#, r#""instructions","source":"instructions""#];
/// A number of 64 bits has at most this many digits.
const HOLE: &str = "                    ";

impl Inside {
    /// The recorder of a program, and the rest of the parts' indices.
    ///
    /// # Errors
    ///
    /// If the program's memory can't hold a recorder.
    pub(crate) fn new(
        info: &ModuleInfo<'_>,
        parts: &Parts,
        places: &mut PartIndices,
        symbols: &SymbolTable,
        path: &str,
    ) -> Result<Inside, Error> {
        check(info, path)?;
        let file = beginning(symbols);
        let pages = (u64::from(FILE + WINDOW) + file.bytes.len() as u64).div_ceil(PAGE);
        let own = info.memory_types.first();
        let begin = own.map_or(0, |memory| memory.initial);
        if begin + pages > MAX_PAGES {
            return Err(no("is too large to grow by the recorder's pages"));
        }
        let maximum = match own {
            Some(memory) => memory.maximum.map(|pages_at_most| (pages_at_most + pages).min(MAX_PAGES)),
            None => Some(pages),
        };
        let memory = MemoryType {
            minimum: begin + pages,
            maximum,
            memory64: false,
            shared: false,
            page_size_log2: None,
        };
        (places.base, places.pages) = ((begin * PAGE) as u32, pages as u32);
        let function = |name| parts.function(places, name);
        let files = match function(names::INSIDE_EXIT) {
            Ok(exit) => Some(Files {
                before: function(names::INSIDE_BEFORE)?,
                abort: function(names::INSIDE_ABORT)?,
                exit,
                command: function(names::INSIDE_COMMAND)?,
            }),
            Err(_) => None,
        };
        let counted = info.sections.iter().find(|section| section.id == DATA_COUNT);
        let counted = counted.map(|section| {
            BinaryReader::new(&info.wasm[section.content.clone()], section.content.start as u64)
                .read_var_u32()
        });
        Ok(Inside {
            memory,
            pages: places.pages,
            base: places.base,
            grow: function(names::INSIDE_GROW)?,
            after: function(names::INSIDE_AFTER)?,
            files,
            segments: counted.transpose()?,
            data: [(0, texts(symbols, path, &file)), (FILE, file.bytes)],
        })
    }

    /// Number of segments that it adds to the data.
    pub(crate) const SEGMENTS: u32 = 2;

    /// Appends the segments to the data.
    pub(crate) fn encode_data(&self, out: &mut Vec<u8>) {
        for (offset, bytes) in &self.data {
            0u32.encode(out);
            ConstExpr::i32_const((self.base + offset) as i32).encode(out);
            bytes.as_slice().encode(out);
        }
    }

    /// Writes the section with the program's only memory.
    pub(crate) fn encode_memory(&self, out: &mut Vec<u8>) {
        1u32.encode(out);
        self.memory.encode(out);
    }

    /// In the place of the function that is exported as `_start`.
    pub(crate) fn command(&self) -> Option<u32> {
        self.files.map(|files| files.command)
    }

    /// In the place of `memory.size`.
    pub(crate) fn size(&self) -> [Instruction<'static>; 3] {
        [Instruction::MemorySize(0), Instruction::I32Const(self.pages as i32), Instruction::I32Sub]
    }

    /// In the place of `memory.grow`.
    pub(crate) fn grow(&self) -> [Instruction<'static>; 1] {
        [Instruction::Call(self.grow)]
    }

    /// In the place of `unreachable`.
    pub(crate) fn abort(&self) -> Option<[Instruction<'static>; 2]> {
        self.files.map(|files| [Instruction::Call(files.abort), Instruction::Unreachable])
    }

    /// In the place of a call of an import.
    pub(crate) fn host_call(&self, info: &ModuleInfo<'_>, import: u32) -> Option<Vec<Instruction<'static>>> {
        let called = info.imported_funcs.get(import as usize)?;
        let [call, after] = [import, self.after].map(Instruction::Call);
        let wasi = called.module == names::WASI;
        match (called.name, self.files) {
            _ if called.module.starts_with("wasm:") => None,
            (_, None) => Some(vec![call, after]),
            // A call of the clock costs less than two more.
            ("clock_time_get", _) if wasi => None,
            ("proc_exit", Some(files)) if wasi => Some(vec![Instruction::Call(files.exit)]),
            (_, Some(files)) => Some(vec![Instruction::Call(files.before), call, after]),
        }
    }
}

/// Whether the program may have files: it imports WASI, and hosts find its memory.
pub(crate) fn may_have_files(info: &ModuleInfo<'_>) -> bool {
    info.is_first_memory_linked && info.imported_funcs.iter().any(|import| import.module == names::WASI)
}

/// The name of a program's trace.
pub(crate) fn trace_path(module: &str) -> String {
    let name: String = module.chars().filter(|&c| !c.is_control() && c != '/').take(60).collect();
    if name.is_empty() { "module.kperf".to_owned() } else { format!("{name}.kperf") }
}

/// Fails if the recorder can't be in the program's memory.
fn check(info: &ModuleInfo<'_>, path: &str) -> Result<(), Error> {
    if path.len() > MAX_PATH || path.contains('\0') {
        return Err(ErrorKind::BadTracePath { path: path.to_owned() }.into());
    }
    let memory_section = wasm_encoder::SectionId::Memory as u8;
    match info.memory_types.as_slice() {
        [] => Ok(()),
        [_] if !info.sections.iter().any(|section| section.id == memory_section) => Err(no("is imported")),
        [memory] if memory.shared => Err(no("is shared between threads")),
        [memory] if memory.memory64 => Err(no("has 64-bit addresses")),
        [memory] if memory.page_size_log2.is_some() => Err(no("has pages of its own size")),
        [_] => Ok(()),
        _ => Err(no("is one of several")),
    }
}

fn no(why: &'static str) -> Error {
    ErrorKind::NoRoomInMemory { why }.into()
}

/// The same in each file: magic, header and symbols.
struct Beginning {
    bytes: Vec<u8>,
    /// The payload's length of the header's chunk, which follows the magic.
    header: usize,
    /// Offset and length of the holes in it.
    holes: [(usize, usize); 3],
}

const MAGIC: &[u8] = b"KPERF\0\x01\x05";
const CHUNK_LEN: usize = 28;

fn beginning(symbols: &SymbolTable) -> Beginning {
    let start = MAGIC.len() + CHUNK_LEN;
    let mut json = r#"{"clock":{"kind":"#.to_owned();
    let mut holes = [(0, 0); 3];
    let pieces = [
        (CLOCKS[0], r#","ticks_per_second":1000000000},"anchor":{"ticks":"#),
        (HOLE, r#","unix_nanos":"#),
        (HOLE, r#"},"command":[]}"#),
    ];
    for (hole, (text, after)) in holes.iter_mut().zip(pieces) {
        *hole = (start + json.len(), text.len());
        json.extend([text, after]);
    }
    let mut bytes = MAGIC.to_vec();
    // The recorder completes the header, and makes its checksums.
    bytes.extend(chunk(b"HEAD", json.as_bytes()));
    bytes.extend(chunk(b"SYMS", &symbols.to_bytes()));
    Beginning { bytes, header: json.len(), holes }
}

/// A chunk of a trace. host-runtime/trace/FORMAT.md
fn chunk(kind: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\xf5kpf".to_vec();
    bytes.extend(kind);
    bytes.extend([0; 8]);
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(crc(payload).to_le_bytes());
    bytes.extend(crc(&bytes).to_le_bytes());
    bytes.extend(payload);
    bytes
}

/// The table of CRC-32 for four bits.
fn crc_table() -> [u32; 16] {
    std::array::from_fn(|n| {
        (0..4).fold(n as u32, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

fn crc(bytes: &[u8]) -> u32 {
    let table = crc_table();
    let step = |crc: u32| crc >> 4 ^ table[crc as usize & 15];
    !bytes.iter().fold(!0, |crc, &byte| step(step(crc ^ u32::from(byte))))
}

/// The recorder's first bytes: texts, and where they are.
fn texts(symbols: &SymbolTable, path: &str, file: &Beginning) -> Vec<u8> {
    let mut bytes = vec![0; TEXT as usize];
    // The function of the node that no child is.
    bytes[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let probes = symbols.symbols.len();
    let of_file = |(offset, length): (usize, usize)| (FILE + offset as u32, length as u32);
    let mut text = |text: &str| {
        let place = (bytes.len() as u32, text.len() as u32);
        bytes.extend(text.as_bytes());
        place
    };
    let places: [(Text, (u32, u32)); TEXTS] = [
        (Text::Completed, text(r#"{"outcome":"completed""#)),
        (Text::Trapped, text(r#"{"outcome":"trap: unreachable""#)),
        (Text::Exited, text(r#"{"outcome":"exit "#)),
        (Text::Unknown, text(r#"{"outcome":"""#)),
        (Text::EndTicks, text(r#","end_ticks":"#)),
        (Text::Readings, text(&format!(r#","probes":{probes},"notes":["the clock was read "#))),
        (Text::Cost, text(" times, which took ")),
        (Text::End, text(r#" ns each; between two readings instructions give the time"]}"#)),
        (Text::EndWithoutClock, text(&format!(r#","probes":{probes}}}"#))),
        (Text::Clock, text(CLOCKS[0])),
        (Text::Instructions, text(CLOCKS[1])),
        (Text::Path, text(path)),
        (Text::Header, of_file((MAGIC.len(), file.header))),
        (Text::HoleClock, of_file(file.holes[0])),
        (Text::HoleTicks, of_file(file.holes[1])),
        (Text::HoleUnix, of_file(file.holes[2])),
        (Text::File, of_file((0, file.bytes.len()))),
    ];
    for (text, (offset, length)) in places {
        let at = PLACES as usize + 8 * text as usize;
        bytes[at..at + 4].copy_from_slice(&offset.to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&length.to_le_bytes());
    }
    for (n, entry) in crc_table().into_iter().enumerate() {
        let at = CRC as usize + 4 * n;
        bytes[at..at + 4].copy_from_slice(&entry.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use kperf_abi::tree::NODES;

    #[test]
    fn the_texts_fit_before_the_nodes() {
        let symbols = SymbolTable::default();
        let file = beginning(&symbols);
        assert!(texts(&symbols, &"x".repeat(MAX_PATH), &file).len() + 20 < NODES as usize);
        assert_eq!(CLOCKS[0].len(), CLOCKS[1].len());
    }

    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    }
}
