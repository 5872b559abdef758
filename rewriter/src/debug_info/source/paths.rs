//! The paths of source files.

use super::debug::Debug;
use super::problem::Problem;
use super::units::Unit;
use gimli::Section as _;
use std::collections::HashMap;

/// The greatest length of all paths together: `PATHS` bytes, plus `PATHS_PER_BYTE` for each byte of the
/// sections that name files.
const PATHS: usize = 1 << 20;
const PATHS_PER_BYTE: usize = 4;

/// The paths of files, put together once.
pub(super) struct Paths<'d, 'i, 'a> {
    debug: &'d Debug<'i, 'a>,
    /// By the unit and the file's number: the number of its path.
    known: HashMap<(usize, u64), Option<u32>>,
    /// By the path.
    numbers: HashMap<String, u32>,
    /// How many bytes of paths may still be put together.
    room: usize,
}

impl<'d, 'i, 'a> Paths<'d, 'i, 'a> {
    pub(super) fn new(debug: &'d Debug<'i, 'a>) -> Self {
        let sections = [debug.dwarf.debug_info.reader().len(), debug.dwarf.debug_line.reader().len()];
        let room = PATHS + PATHS_PER_BYTE * sections.iter().sum::<usize>();
        Paths { debug, known: HashMap::new(), numbers: HashMap::new(), room }
    }

    /// The number of a file among `files`, to which it is added if it is new.
    pub(super) fn file(
        &mut self,
        unit: usize,
        file: u64,
        files: &mut Vec<String>,
    ) -> Result<Option<u32>, Problem> {
        if let Some(&known) = self.known.get(&(unit, file)) {
            return Ok(known);
        }
        // A path that fails is not tried again.
        self.known.insert((unit, file), None);
        let Some(path) = self.path(&self.debug.units.units[unit], file)? else { return Ok(None) };
        self.room = self.room.checked_sub(path.len()).ok_or(Problem::LongPaths)?;
        let number = *self.numbers.entry(path).or_insert_with_key(|path| {
            files.push(path.clone());
            files.len() as u32 - 1
        });
        self.known.insert((unit, file), Some(number));
        Ok(Some(number))
    }

    fn path(&self, unit: &Unit<'a>, file: u64) -> Result<Option<String>, Problem> {
        let debug = self.debug;
        let program = unit.program.and_then(|n| debug.units.programs[n as usize].as_ref().ok());
        let header = program.map(|program| program.header());
        let Some((header, file)) = header.and_then(|header| Some((header, header.file(file)?))) else {
            return Ok(None);
        };
        let Some(mut path) = debug.text_here(unit, &file.path_name())? else { return Ok(None) };
        for folder in [file.directory(header), unit.folder] {
            if let (false, Some(folder)) = (is_absolute(&path), folder) {
                let Some(folder) = debug.text_here(unit, &folder)? else { return Ok(None) };
                path = joined(&folder, &path);
            }
        }
        let path = path.replace("/./", "/");
        // Kotlin has the file for a folder, in which it is `.`.
        Ok(Some(path.strip_suffix("/.").map_or_else(|| path.clone(), str::to_owned)))
    }
}

/// On the system where it was compiled, which may be another than this.
fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':')
}

fn joined(folder: &str, path: &str) -> String {
    match folder {
        "" | "." => path.to_owned(),
        folder => format!("{}/{path}", folder.trim_end_matches(['/', '\\'])),
    }
}
