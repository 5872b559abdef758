//! `.debug_aranges`: which unit has which addresses.

use super::code::Code;
use super::patch::{Patch, number};
use crate::debug_info::source::Problem;

pub(super) fn convert(data: &[u8], code: &Code<'_>) -> Result<Vec<Patch>, Problem> {
    let mut patches = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let field = |at: usize, size: u8| number(data, at, size).ok_or(Problem::Reference);
        let short = field(at, 4)?;
        let (word, start) = if short == 0xffff_ffff { (8, at + 4) } else { (4, at) };
        let length = usize::try_from(field(start, word)?).map_err(|_| Problem::Reference)?;
        let body = start + usize::from(word);
        let end = body.checked_add(length).filter(|&end| end <= data.len()).ok_or(Problem::Reference)?;
        let sizes = body + 2 + usize::from(word);
        let (size, segment) = (field(sizes, 1)? as u8, field(sizes + 1, 1)?);
        if !matches!(size, 4 | 8) || segment != 0 {
            return Err(Problem::Reference);
        }
        let tuple = 2 * usize::from(size);
        // They are aligned to their own size, from the header's beginning.
        let mut entry = at + (sizes + 2 - at).next_multiple_of(tuple);
        while entry + tuple <= end {
            let (begin, length) = (field(entry, size)?, field(entry + usize::from(size), size)?);
            if let Some((new, new_end)) = code.range(begin, begin.saturating_add(length)) {
                patches.push(Patch { at: entry, size, leb: false, value: new });
                let length = new_end - new;
                patches.push(Patch { at: entry + usize::from(size), size, leb: false, value: length });
            }
            entry += tuple;
        }
        at = end;
    }
    Ok(patches)
}
