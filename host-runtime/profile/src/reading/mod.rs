//! One pass over a trace, and its profile.

pub(crate) mod calls;
pub(crate) mod drive;
pub(crate) mod each_window;
pub(crate) mod exported;
pub(crate) mod growing;
pub(crate) mod health;
pub(crate) mod profile;
