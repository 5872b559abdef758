//! Limits what demangled names take.

use std::fmt::{self, Write};

/// Bytes of a demangled name: `base`, and `each` for each byte of the mangled one.
pub(super) struct Limit {
    pub(super) base: usize,
    pub(super) each: usize,
}

impl Limit {
    pub(super) fn of(&self, name: &str) -> usize {
        self.base + self.each * name.len()
    }
}

/// Text that refuses to grow past a limit.
pub(super) struct Limited {
    pub(super) text: String,
    room: usize,
}

impl Limited {
    pub(super) fn new(room: usize) -> Limited {
        Limited { text: String::new(), room }
    }
}

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.room = self.room.checked_sub(text.len()).ok_or(fmt::Error)?;
        self.text.push_str(text);
        Ok(())
    }
}
