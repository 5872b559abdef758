//! Where functions stand in the source, as the module's DWARF says.

use crate::Warning;
use crate::parse::ModuleInfo;
use gimli::{AttributeValue, DebugInfoOffset, Dwarf, EndianSlice, LittleEndian, Unit, UnitOffset};
use kperf_abi::Source;
use rayon::prelude::*;
use std::collections::HashMap;
use std::convert::Infallible;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The id of the code section, whose content DWARF's addresses are counted from.
const CODE: u8 = 10;
/// How many DIEs may point to one another until one says where the function is declared.
const MAX_HOPS: u32 = 8;
/// The most bytes that a body's size takes, which some compilers count to the body.
const SIZE_BYTES: u64 = 5;

/// Where functions stand in the source.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The files' paths, each once.
    pub(crate) files: Vec<String>,
    /// By the number of the defined function.
    by_body: HashMap<usize, Source>,
}

impl Sources {
    /// Reads the module's DWARF, if it has any. What can't be read costs the places that it tells of, and a warning.
    pub(crate) fn read(info: &ModuleInfo<'_>, warnings: &mut Vec<Warning>) -> Sources {
        let section = |id: gimli::SectionId| {
            let data = info.custom_section(id.name()).map_or(&[][..], |(data, _)| data);
            Ok::<_, Infallible>(Bytes::new(data, LittleEndian))
        };
        let Ok(dwarf) = Dwarf::load(section);
        let Some(code) = info.sections.iter().find(|section| section.id == CODE) else {
            return Sources::default();
        };
        let mut problem = None;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        loop {
            match headers.next() {
                Ok(Some(header)) => match dwarf.unit(header) {
                    Ok(unit) => units.push(unit),
                    Err(error) => problem = Some(error),
                },
                Ok(None) => break,
                Err(error) => {
                    problem = Some(error);
                    break;
                }
            }
        }
        let debug = Debug { info, dwarf, units, code: code.content.start as u64 };
        let found: Vec<_> = debug.units.par_iter().map(|unit| debug.functions(unit)).collect();
        let mut sources = Sources::default();
        let mut known: HashMap<String, u32> = HashMap::new();
        for unit in found {
            let (places, error) = unit;
            problem = problem.or(error);
            for (body, Place { file, line }) in places {
                let file = *known.entry(file).or_insert_with_key(|file| {
                    sources.files.push(file.clone());
                    sources.files.len() as u32 - 1
                });
                sources.by_body.entry(body).or_insert(Source { file, line });
            }
        }
        warnings.extend(problem.map(|error| Warning::BadDebugInfo { message: error.to_string() }));
        sources
    }

    /// The place of the n-th defined function, if it is known.
    pub(crate) fn get(&self, n: usize) -> Option<Source> {
        self.by_body.get(&n).copied()
    }
}

/// A file and a line of it.
struct Place {
    file: String,
    line: u32,
}

struct Debug<'i, 'a> {
    info: &'i ModuleInfo<'a>,
    dwarf: Dwarf<Bytes<'a>>,
    /// In the order of their offsets.
    units: Vec<Unit<Bytes<'a>>>,
    code: u64,
}

type Places = Vec<(usize, Place)>;

impl<'a> Debug<'_, 'a> {
    /// The functions of a unit: as they are declared or, where nothing says that, by the line table.
    fn functions(&self, unit: &Unit<Bytes<'a>>) -> (Places, Option<gimli::Error>) {
        let mut places = Places::new();
        let read = self.declared(unit, &mut places);
        let read = if places.is_empty() { read.and_then(|()| self.lines(unit, &mut places)) } else { read };
        (places, read.err())
    }

    fn declared(&self, unit: &Unit<Bytes<'a>>, places: &mut Places) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        let mut files = Files::default();
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            entries.skip_attributes(abbreviation.attributes())?;
            if abbreviation.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let entry = unit.entry(offset)?;
            let Some(low) = entry.attr_value(gimli::DW_AT_low_pc) else { continue };
            let Some(body) = self.dwarf.attr_address(unit, low)?.and_then(|address| self.body_at(address))
            else {
                continue;
            };
            if let Some((unit, file, line)) = self.declaration(unit, offset)?
                && let Some(file) = files.path(&self.dwarf, unit, file)?
            {
                places.push((body, Place { file, line }));
            }
        }
        Ok(())
    }

    /// Where a DIE, or one that it is an instance of, says that it is declared: the unit whose files it means, the file's
    /// number, the line.
    fn declaration<'s>(
        &'s self,
        unit: &'s Unit<Bytes<'a>>,
        offset: UnitOffset,
    ) -> gimli::Result<Option<(&'s Unit<Bytes<'a>>, u64, u32)>> {
        let (mut unit, mut offset) = (unit, offset);
        for _ in 0..MAX_HOPS {
            let entry = unit.entry(offset)?;
            let line = entry.attr_value(gimli::DW_AT_decl_line).and_then(|line| line.udata_value());
            if let Some(AttributeValue::FileIndex(file)) = entry.attr_value(gimli::DW_AT_decl_file)
                && let Some(line) = line.and_then(|line| u32::try_from(line).ok())
            {
                return Ok(Some((unit, file, line)));
            }
            let origin = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification]
                .into_iter()
                .find_map(|name| entry.attr_value(name));
            match origin {
                Some(AttributeValue::UnitRef(to)) => offset = to,
                Some(AttributeValue::DebugInfoRef(to)) => match self.unit_of(to) {
                    Some((other, to)) => (unit, offset) = (other, to),
                    None => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn unit_of(&self, to: DebugInfoOffset) -> Option<(&Unit<Bytes<'a>>, UnitOffset)> {
        let starts_behind = |unit: &Unit<Bytes<'a>>| unit.header.debug_info_offset() > Some(to);
        let at = self.units.partition_point(|unit| !starts_behind(unit)).checked_sub(1)?;
        let unit = self.units.get(at)?;
        Some((unit, to.to_unit_offset(&unit.header)?))
    }

    /// The first line of each body that the line table knows.
    fn lines(&self, unit: &Unit<Bytes<'a>>, places: &mut Places) -> gimli::Result<()> {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let mut first: HashMap<usize, (u64, u64, u32)> = HashMap::new();
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            let body = if row.end_sequence() { None } else { self.body_at(row.address()) };
            if let (Some(line), Some(body)) = (line, body) {
                let here = (row.address(), row.file_index(), line);
                first.entry(body).and_modify(|first| *first = here.min(*first)).or_insert(here);
            }
        }
        let mut files = Files::default();
        for (body, (_, file, line)) in first {
            if let Some(file) = files.path(&self.dwarf, unit, file)? {
                places.push((body, Place { file, line }));
            }
        }
        Ok(())
    }

    /// The defined function at an address. Linkers leave 0 or all ones where a function was removed.
    fn body_at(&self, address: u64) -> Option<usize> {
        let at = self.code.checked_add(address).filter(|_| address > 0)?;
        let n = self.info.bodies.partition_point(|body| u64::from(body.end) <= at);
        let body = self.info.bodies.get(n)?;
        (u64::from(body.start) <= at.saturating_add(SIZE_BYTES)).then_some(n)
    }
}

/// The paths of files, put together once.
#[derive(Default)]
struct Files {
    known: HashMap<(Option<DebugInfoOffset>, u64), Option<String>>,
}

impl Files {
    fn path<'a>(
        &mut self,
        dwarf: &Dwarf<Bytes<'a>>,
        unit: &Unit<Bytes<'a>>,
        file: u64,
    ) -> gimli::Result<Option<String>> {
        let key = (unit.header.debug_info_offset(), file);
        if let Some(path) = self.known.get(&key) {
            return Ok(path.clone());
        }
        let path = path(dwarf, unit, file)?;
        self.known.insert(key, path.clone());
        Ok(path)
    }
}

fn path<'a>(dwarf: &Dwarf<Bytes<'a>>, unit: &Unit<Bytes<'a>>, file: u64) -> gimli::Result<Option<String>> {
    let header = unit.line_program.as_ref().map(|program| program.header());
    let Some((header, file)) = header.and_then(|header| Some((header, header.file(file)?))) else {
        return Ok(None);
    };
    let text = |value| -> gimli::Result<String> {
        Ok(dwarf.attr_string(unit, value)?.to_string_lossy().into_owned())
    };
    let mut path = text(file.path_name())?;
    if !is_absolute(&path)
        && let Some(folder) = file.directory(header)
    {
        path = joined(&text(folder)?, &path);
    }
    if let (false, Some(folder)) = (is_absolute(&path), &unit.comp_dir) {
        path = joined(&folder.to_string_lossy(), &path);
    }
    Ok(Some(path.replace("/./", "/")))
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
