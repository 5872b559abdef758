//! Finds the regions of straight-line code, each of which counts its instructions once, at its start.
//!
//! - A region ends at branches, at labels with branches to them, and at calls, so it is executed completely or not at
//!   all. If an instruction in it traps (a load, a store, a division, a conversion, a cast), the region is counted
//!   completely.
//! - Code after a block joins the region before it, if the block's only exit is its end. Such a block has no calls,
//!   so no event shows the difference.

use crate::error::Error;
use crate::module::info::ModuleInfo;
use crate::module::operators::{self, Effect, Named};
use wasmparser::{FunctionBody, Operator};

/// The type of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    I32,
    I64,
}

/// Code before an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// Counts instructions. `stale`: other code may have counted since the local was set.
    Charge { cost: u64, stale: bool },
    /// Keeps the length on the stack, which the next operator copies or fills.
    KeepLength(Width),
    /// Counts the kept length.
    ChargeLength(Width),
}

/// The code that counts the instructions of a body.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    /// By the offset of the operator after it, in order.
    pub(crate) puts: Vec<(u64, Put)>,
    /// Whether a local holds the count too. That pays in loops without calls.
    pub(crate) in_local: bool,
}

/// An operator that copies or fills `n` bytes or elements counts `n >> BULK_SHIFT` more.
pub(crate) const BULK_SHIFT: i64 = 3;

/// The cost of an operator: 1, or 0 for structure.
fn cost(operator: &Operator<'_>) -> u64 {
    use Operator::*;
    match operator {
        Nop | Drop | Block { .. } | Loop { .. } | TryTable { .. } | Try { .. } | Unreachable | Return => 0,
        Else | End | Catch { .. } | CatchAll | Delegate { .. } => 0,
        _ => 1,
    }
}

/// Finds the regions of a body.
pub(crate) fn find(info: &ModuleInfo<'_>, body: &FunctionBody<'_>) -> Result<Counting, Error> {
    let mut reader = body.get_operators_reader()?;
    let mut end = reader.original_position();
    let mut finder = Finder { info, counting: Counting::default(), open: Vec::new(), region: None };
    finder.open.push(Label::new(None));
    finder.begin(end, true);
    while !reader.eof() {
        let start = end;
        let operator = reader.read()?;
        end = reader.original_position();
        finder.operator(&operator, start, end)?;
    }
    let in_local = finder.counting.in_local;
    finder.counting.puts.retain(|&(_, put)| match put {
        Put::Charge { cost, stale } => cost > 0 || (stale && in_local),
        Put::KeepLength(_) | Put::ChargeLength(_) => true,
    });
    Ok(finder.counting)
}

/// The index of a region's charge in the list.
type Region = usize;

/// An open label.
#[derive(Clone, Copy, Debug)]
struct Label {
    /// The region before it; `None` for unreachable code.
    before: Option<Region>,
    is_loop: bool,
    /// The first region of a loop.
    head: Option<Region>,
    /// Whether it has a call.
    calls: bool,
    /// Whether it is an `if` without an `else` so far.
    is_passed_by: bool,
    /// Whether its end can be reached other than through its last instruction.
    joined: bool,
    /// Whether it, and the labels around it up to this one, have an exit other than their ends.
    leaks_to: usize,
    /// Whether exceptions arrive at its end.
    catches: bool,
}

impl Label {
    fn new(before: Option<Region>) -> Label {
        Label {
            before,
            is_loop: false,
            head: None,
            calls: false,
            is_passed_by: false,
            joined: false,
            leaks_to: usize::MAX,
            catches: false,
        }
    }
}

struct Finder<'a, 'm> {
    info: &'a ModuleInfo<'m>,
    counting: Counting,
    open: Vec<Label>,
    /// The region of the next operator; `None` in unreachable code.
    region: Option<Region>,
}

impl Finder<'_, '_> {
    fn operator(&mut self, operator: &Operator<'_>, start: u64, end: u64) -> Result<(), Error> {
        self.charge(cost(operator));
        match operators::effect(operator) {
            Effect::Opens | Effect::Loops | Effect::OpensTable => self.open(operator, start, end)?,
            Effect::Ends | Effect::Delegates => self.close(start, end)?,
            Effect::Catches => self.other_arm(start, end)?,
            Effect::Calls | Effect::CallsReference | Effect::Switches => self.call(end),
            Effect::Resumes => {
                self.branch(operator, start, true)?;
                self.call(end);
            }
            Effect::Branches if matches!(operator, Operator::Rethrow { .. }) => self.leave(),
            Effect::Branches => {
                self.branch(operator, start, false)?;
                let goes_on = !matches!(operator, Operator::Br { .. } | Operator::BrTable { .. });
                if goes_on {
                    self.split(end, false);
                } else {
                    self.region = None;
                }
            }
            Effect::TailCalls => {
                self.note_call();
                self.leave();
            }
            Effect::Returns => self.leave(),
            Effect::Unknown => return Err(operators::unknown(start)),
            Effect::Cheap | Effect::Plain => match operator {
                Operator::Else => self.other_arm(start, end)?,
                Operator::Unreachable | Operator::Throw { .. } | Operator::ThrowRef => self.leave(),
                operator => self.bulk(operator, start, end),
            },
            Effect::Variable | Effect::Refers | Effect::Waits => {}
        }
        Ok(())
    }

    fn charge(&mut self, more: u64) {
        if let Some((_, Put::Charge { cost, .. })) =
            self.region.and_then(|region| self.counting.puts.get_mut(region))
        {
            *cost += more;
        }
    }

    /// Begins a region at an offset.
    fn begin(&mut self, at: u64, stale: bool) {
        self.region = Some(self.counting.puts.len());
        self.counting.puts.push((at, Put::Charge { cost: 0, stale }));
    }

    /// Ends the region. Another begins, unless the code is unreachable.
    fn split(&mut self, at: u64, stale: bool) {
        if self.region.is_some() {
            self.begin(at, stale);
        }
    }

    fn open(&mut self, operator: &Operator<'_>, start: u64, end: u64) -> Result<(), Error> {
        let mut label = Label::new(self.region);
        match operator {
            Operator::Loop { .. } => {
                self.split(end, false);
                label.is_loop = true;
                label.head = self.region;
            }
            Operator::If { .. } => {
                self.split(end, false);
                label.is_passed_by = true;
            }
            Operator::TryTable { .. } => {
                self.branch(operator, start, true)?;
                label.leaks_to = self.open.len();
            }
            Operator::Try { .. } => {
                label.joined = true;
                label.leaks_to = self.open.len();
            }
            _ => {}
        }
        self.open.push(label);
        Ok(())
    }

    /// Handles an `else` or a `catch`.
    fn other_arm(&mut self, start: u64, end: u64) -> Result<(), Error> {
        let label = self.open.last_mut().ok_or_else(|| unbalanced(start))?;
        let is_else = std::mem::replace(&mut label.is_passed_by, false);
        label.joined |= self.region.is_some();
        self.region = label.before;
        self.split(end, !is_else);
        Ok(())
    }

    fn close(&mut self, start: u64, end: u64) -> Result<(), Error> {
        let label = self.open.pop().ok_or_else(|| unbalanced(start))?;
        self.counting.in_local |= label.is_loop && !label.calls && label.before.is_some();
        if let Some(around) = self.open.last_mut() {
            around.calls |= label.calls;
            around.leaks_to = around.leaks_to.min(label.leaks_to);
        }
        let leaks = label.leaks_to <= self.open.len();
        let joined = (label.joined || label.is_passed_by) && !label.is_loop;
        match label.before {
            Some(before) if joined || self.region.is_some() => {
                if !leaks && (joined || label.is_loop) {
                    self.region = Some(before);
                } else if joined {
                    self.begin(end, label.catches);
                }
                // Without an `else`, the condition may skip the body.
            }
            _ => self.region = None,
        }
        Ok(())
    }

    fn note_call(&mut self) {
        if let (Some(label), Some(_)) = (self.open.last_mut(), self.region) {
            label.calls = true;
        }
    }

    /// Other code may run now, and may not return.
    fn call(&mut self, end: u64) {
        self.note_call();
        self.leak(0);
        self.split(end, true);
    }

    /// Leaves the function in any way; an exception may be caught on that way.
    fn leave(&mut self) {
        self.leak(0);
        self.region = None;
    }

    /// Adds an exit from here out of all labels up to this one.
    fn leak(&mut self, to: usize) {
        if let (Some(label), Some(_)) = (self.open.last_mut(), self.region) {
            label.leaks_to = label.leaks_to.min(to);
        }
    }

    /// Adds branches from here to the labels of an operator. `catches`: other code may have run on the way.
    fn branch(&mut self, operator: &Operator<'_>, offset: u64, catches: bool) -> Result<(), Error> {
        if self.region.is_none() {
            return Ok(());
        }
        operators::each_named(operator, |named| {
            let Named::Label(depth) = named else { return Ok(()) };
            let at = self.open.len().checked_sub(depth as usize + 1);
            let at = at.ok_or_else(|| Error::malformed(offset, "a branch to an unknown label"))?;
            self.leak(at + 1);
            let target = &mut self.open[at];
            target.joined = true;
            target.catches |= catches;
            if catches
                && let Some((_, Put::Charge { stale, .. })) =
                    target.head.and_then(|head| self.counting.puts.get_mut(head))
            {
                *stale = true;
            }
            Ok(())
        })
    }

    /// An operator that copies or fills counts by its length, which is on top of the stack.
    fn bulk(&mut self, operator: &Operator<'_>, start: u64, end: u64) {
        if self.region.is_none() {
            return;
        }
        let memory = |index: u32| self.info.wide_memories.contains(&index);
        let table = |index: u32| self.info.wide_tables.contains(&index);
        let is_wide = match *operator {
            Operator::MemoryCopy { dst_mem, src_mem } => memory(dst_mem) && memory(src_mem),
            Operator::MemoryFill { mem } => memory(mem),
            Operator::TableCopy { dst_table, src_table } => table(dst_table) && table(src_table),
            Operator::TableFill { table: index } => table(index),
            Operator::MemoryInit { .. } | Operator::TableInit { .. } => false,
            Operator::ArrayCopy { .. } | Operator::ArrayFill { .. } | Operator::ArrayNew { .. } => false,
            Operator::ArrayNewDefault { .. } | Operator::ArrayNewData { .. } => false,
            Operator::ArrayNewElem { .. } | Operator::ArrayInitData { .. } => false,
            Operator::ArrayInitElem { .. } => false,
            _ => return,
        };
        let width = if is_wide { Width::I64 } else { Width::I32 };
        self.counting.puts.push((start, Put::KeepLength(width)));
        self.counting.puts.push((end, Put::ChargeLength(width)));
    }
}

fn unbalanced(offset: u64) -> Error {
    Error::malformed(offset, "an `end` without a label")
}
