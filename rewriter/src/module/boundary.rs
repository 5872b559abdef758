//! The ways by which functions may cross the border of a module, other than by being imported and called by name. A function
//! of the host's that has come in may stand in any table then, and be any reference.

/// Which ways there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Boundary {
    /// One may come in: as a value that the host gives, within an object, in a table or a global that the host sees too, with
    /// an exception.
    pub(crate) lets_in: bool,
    /// One of the module's may get out, in the same ways.
    pub(crate) lets_out: bool,
    /// If so, one may come in as what the host gives to a function of the module's that isn't exported.
    pub(crate) references_take: bool,
}

/// What values of some types may bring with them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    /// A function: they are one.
    pub(crate) functions: bool,
    /// An object that a function may be in. Whoever has it may put one there: objects go both ways.
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
