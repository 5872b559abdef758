//! Rejects probes in functions that may be open while their stack is suspended (`suspend`, `resume`, `switch`).
//!
//! A call that is open on a suspended stack would be followed by calls that are not its callees: frames of several
//! stacks would interleave in one lane. Such a function
//!
//! - has one of these instructions (a stack that resumes another may be suspended with it),
//! - or calls such a function,
//! - or calls through a table or a reference, if such a function is referred to anywhere.
//!
//! A call of an import is assumed not to suspend its caller: no module shows that.

use crate::error::{Error, ErrorKind};
use crate::module::functions::FunctionSet;
use crate::module::info::ModuleInfo;
use crate::module::operators::{self, Effect};
use crate::plan::choose::Plan;
use crate::plan::reach::HostReach;
use kperf_abi::FuncIndex;
use std::collections::HashMap;

/// Number of functions that an error names.
const NAMED: usize = 5;

/// Fails if such a function has a probe. `switches`: the functions with these instructions, and the offset of the
/// first.
pub(crate) fn check(
    info: &ModuleInfo<'_>,
    reach: &HostReach,
    plan: &Plan,
    switches: &[(FuncIndex, u64)],
) -> Result<(), Error> {
    let Some(&(_, offset)) = switches.first() else { return Ok(()) };
    let suspended = suspended(info, reach, switches)?;
    let mut probed = plan.probed().filter(|(_, function)| suspended.contains(function.index.0)).peekable();
    if probed.peek().is_none() {
        return Ok(());
    }
    let names: Vec<String> =
        probed.by_ref().take(NAMED).map(|(_, function)| function.display_name().to_owned()).collect();
    Err(ErrorKind::SwitchesStacks { names, others: probed.count(), offset }.into())
}

fn suspended(
    info: &ModuleInfo<'_>,
    reach: &HostReach,
    switches: &[(FuncIndex, u64)],
) -> Result<FunctionSet, Error> {
    // Callers by callee; `None` is the callee of calls through tables or references.
    let mut callers: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
    let mut referenced = info.referenced.clone();
    if reach.references() {
        // The host may put these into tables.
        let exported = info.exported_funcs.keys().filter(|&&index| info.is_there(index));
        exported.for_each(|&index| _ = referenced.insert(index));
    }
    for (n, &body) in info.bodies.iter().enumerate() {
        let index = info.defined(n).0;
        for operator in info.body(body).get_operators_reader()? {
            let operator = operator?;
            let callee = match (operators::effect(&operator), operators::function(&operator)) {
                (Effect::Calls | Effect::TailCalls, callee) => callee,
                (Effect::CallsReference, _) => None,
                (_, Some(function)) => {
                    if info.is_there(function) {
                        referenced.insert(function);
                    }
                    continue;
                }
                (_, None) => continue,
            };
            callers.entry(callee).or_default().push(index);
        }
    }
    let mut suspended = FunctionSet::default();
    let mut known: Vec<Option<u32>> = Vec::new();
    for &(index, _) in switches {
        suspended.insert(index.0);
        known.push(Some(index.0));
    }
    let mut through_references = false;
    while let Some(callee) = known.pop() {
        if !through_references && callee.is_some_and(|callee| referenced.contains(callee)) {
            through_references = true;
            known.push(None);
        }
        for &caller in callers.get(&callee).into_iter().flatten() {
            if suspended.insert(caller) {
                known.push(Some(caller));
            }
        }
    }
    Ok(suspended)
}
