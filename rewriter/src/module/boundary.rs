//! How functions may cross a module's boundary, other than by being imported and called by name.
//!
//! A host function that has entered may be in any table, and may be any reference.

/// The ways that a module has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Boundary {
    /// A host function may enter: as a value from the host, inside an object, through a table or global that the host
    /// shares, or with an exception.
    pub(crate) lets_in: bool,
    /// A function of the module may leave, in the same ways.
    pub(crate) lets_out: bool,
    /// If so, a host function may enter as an argument of a function that isn't exported.
    pub(crate) references_take: bool,
}

/// What values of some types may carry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    /// Functions: the values are functions.
    pub(crate) functions: bool,
    /// Objects that may hold functions. The owner of an object may put one into it, so objects cross in both
    /// directions.
    pub(crate) objects: bool,
}

impl Boundary {
    pub(crate) fn comes_in(&mut self, carried: Carried) {
        self.lets_in |= carried.functions | carried.objects;
        self.lets_out |= carried.objects;
    }

    pub(crate) fn goes_out(&mut self, carried: Carried) {
        self.lets_in |= carried.objects;
        self.lets_out |= carried.functions | carried.objects;
    }
}

impl Carried {
    pub(crate) fn is_empty(self) -> bool {
        !self.functions && !self.objects
    }
}
