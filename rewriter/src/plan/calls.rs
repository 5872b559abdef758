//! Finds the calls of each function, and what each call may reach.
//!
//! A trace has callers and callees with probes only. Between them may be functions without probes. So a call may
//! reach any function if its callee has no probe, is visible to the host, or ends in a tail call.

use crate::module::functions::FunctionSet;
use crate::module::info::{BodyPlace, ModuleInfo};
use crate::module::operators::{self, Effect};
use crate::plan::reach::HostReach;
use kperf_abi::{CallSite, FuncIndex, Target};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use wasmparser::{FuncType, Operator};

/// The calls of a module's functions.
pub(crate) struct CallTargets {
    /// The functions that have a probe.
    probed: FunctionSet,
    bodies: Vec<BodyCalls>,
    /// By type index; `None` for types that aren't function types.
    classes: Vec<Option<u32>>,
    /// By function index.
    class_of: Vec<Option<u32>>,
    /// Functions through which a call may reach any function.
    through: FunctionSet,
    /// Classes with such a function.
    through_classes: HashSet<u32>,
    /// Whether a reference may be a host function that calls back.
    through_references: bool,
}

/// The calls of a body.
#[derive(Clone, Debug, Default)]
struct BodyCalls {
    /// Offsets in the body. Empty if there are more than [`MOST_CALLS`], so call sites in it are unknown.
    calls: Box<[(u32, Callee)]>,
    /// Whether it has any call.
    has_calls: bool,
    /// Whether it has a tail call.
    has_tail_call: bool,
}

/// A function with more calls is a megabyte of code.
const MOST_CALLS: usize = 1 << 18;

#[derive(Clone, Copy, Debug)]
enum Callee {
    Function(u32),
    /// Of a known type.
    Reference(u32),
    /// Of an unknown type.
    AnyReference,
}

impl CallTargets {
    /// Reads all bodies. In an invalid body the calls after the invalid instruction are missing.
    pub(crate) fn find(info: &ModuleInfo<'_>, reach: &HostReach, probed: FunctionSet) -> CallTargets {
        let imports = info.imported_funcs.len();
        let bodies = info.bodies.par_iter().enumerate();
        let bodies: Vec<BodyCalls> = bodies
            .map(|(n, &place)| BodyCalls::find(info, place, probed.contains((imports + n) as u32)))
            .collect();
        let classes = classes(info);
        let types = info.imported_funcs.iter().map(|import| import.type_index);
        let types = types.chain(info.defined_types.iter().copied());
        let is_open =
            |index: u32| info.referenced.contains(index) || info.exported_funcs.contains_key(&index);
        let class_of: Vec<Option<u32>> = types
            .zip(0..)
            .map(|(ty, index)| classes.get(ty as usize).copied().flatten().filter(|_| is_open(index)))
            .collect();
        let mut calls = CallTargets {
            probed,
            bodies,
            classes,
            class_of,
            through: FunctionSet::default(),
            through_classes: HashSet::new(),
            through_references: reach.references(),
        };
        for index in 0..calls.class_of.len() as u32 {
            let is_through = match (index as usize).checked_sub(imports) {
                None => reach.function(index),
                Some(n) => calls.bodies.get(n).is_some_and(|body| {
                    body.has_tail_call || !calls.probed.contains(index) && body.has_calls
                }),
            };
            if is_through {
                calls.through.insert(index);
                calls.through_classes.extend(calls.class_of(FuncIndex(index)));
            }
        }
        calls
    }

    /// The class of a function's type, if the function can be called through a table or a reference.
    pub(crate) fn class_of(&self, index: FuncIndex) -> Option<u32> {
        self.class_of.get(index.0 as usize).copied().flatten()
    }

    /// The call sites of the n-th defined function that reach functions with probes.
    pub(crate) fn of(&self, n: usize) -> Vec<CallSite> {
        let mut sites = Vec::new();
        for &(offset, callee) in self.bodies.get(n).map_or(&[][..], |body| &body.calls) {
            let (target, is_through) = match callee {
                Callee::Function(index) => {
                    let has_probe = self.probed.contains(index);
                    (has_probe.then_some(Target::Function(FuncIndex(index))), self.through.contains(index))
                }
                Callee::Reference(_) | Callee::AnyReference => {
                    let class = match callee {
                        Callee::Reference(ty) => self.classes.get(ty as usize).copied().flatten(),
                        _ => None,
                    };
                    let is_through = class.is_none_or(|class| self.through_classes.contains(&class))
                        || self.through_references;
                    (class.map(Target::Class), is_through)
                }
            };
            sites.extend(is_through.then_some(CallSite { offset, target: Target::Anything }));
            sites.extend(target.map(|target| CallSite { offset, target }));
        }
        sites
    }
}

impl BodyCalls {
    /// For a function without a probe, only whether there is a call matters.
    fn find(info: &ModuleInfo<'_>, place: BodyPlace, is_probed: bool) -> BodyCalls {
        let mut found = BodyCalls::default();
        let mut calls = Vec::new();
        let Ok(mut operators) = info.body(place).get_operators_reader() else { return found };
        while !operators.eof() {
            let at = operators.original_position();
            let Ok(operator) = operators.read() else { break };
            let callee = match operators::effect(&operator) {
                Effect::TailCalls => {
                    found.has_tail_call = true;
                    continue;
                }
                Effect::Calls => operators::function(&operator).map(Callee::Function),
                Effect::CallsReference => Some(match operator {
                    Operator::CallIndirect { type_index, .. } | Operator::CallRef { type_index } => {
                        Callee::Reference(type_index)
                    }
                    _ => Callee::AnyReference,
                }),
                // Functions of a resumed stack are callees of the one that resumes it.
                Effect::Resumes | Effect::Switches => Some(Callee::AnyReference),
                _ => None,
            };
            let offset = at.saturating_sub(place.start.into()) as u32;
            found.has_calls |= callee.is_some();
            if is_probed && calls.len() <= MOST_CALLS {
                calls.extend(callee.map(|callee| (offset, callee)));
            }
        }
        if calls.len() <= MOST_CALLS {
            found.calls = calls.into();
        }
        found
    }
}

/// Classes of types that a call through a reference can't distinguish: equal signatures. With subtypes, signatures
/// with as many parameters and results.
fn classes<'a>(info: &'a ModuleInfo<'_>) -> Vec<Option<u32>> {
    let functions = || info.types.iter().filter(|ty| ty.signature.is_some());
    let are_plain = functions().all(|ty| ty.plain);
    let (mut alike, mut as_long) = (HashMap::new(), HashMap::new());
    let mut class = |signature: &'a FuncType| {
        if are_plain {
            let next = alike.len() as u32;
            return *alike.entry(signature).or_insert(next);
        }
        let next = as_long.len() as u32;
        *as_long.entry((signature.params().len(), signature.results().len())).or_insert(next)
    };
    info.types.iter().map(|ty| ty.signature.as_ref().map(&mut class)).collect()
}
