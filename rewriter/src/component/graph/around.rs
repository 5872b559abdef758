//! Decides which guards are needed, and when they can be written.

use super::super::exports::Export;
use super::super::scan::Nested;
use super::super::scope::{Scope, Wrapped};
use super::super::wit::Lift;
use super::super::{canonical, guard};
use super::{Graph, Result, check_instances};
use crate::error::ErrorKind;
use kperf_abi::{SymbolTable, word};
use wasm_encoder as encoder;
use wasm_encoder::reencode;
use wasmparser::CanonicalFunction;

impl Graph<'_, '_> {
    /// Writes the guards that this canonical function needs: for all functions of the component that need one and are
    /// defined by now. `before`: the functions to be written before it.
    pub(super) fn guard(
        &mut self,
        function: &CanonicalFunction,
        before: &mut encoder::CanonicalFunctionSection,
        out: &mut encoder::Component,
    ) -> Result<()> {
        let (scan, exports, paths) = (self.scan, self.outside.exports, self.outside.paths);
        let mut table = SymbolTable {
            module: self.outside.identity.clone(),
            id_base: self.outside.next_id,
            ..SymbolTable::default()
        };
        let scope = self.top();
        let Some((recorder, number)) = scope.recorder.zip(scope.component) else { return Ok(()) };
        let (component, exports) = (&scan.components[number], &exports[number]);
        let lift = |scope: &Scope| Lift::of(function).and_then(|_| exports.get(scope.lifts));
        let wants_call = |scope: &Scope| {
            let (lifted, callback) = (Wrapped::Lifted(scope.lifts), Wrapped::Callback(scope.lifts));
            lift(scope).is_some_and(|export| {
                let wants_callback = export.callback.as_ref().is_some_and(|(_, is_told)| *is_told);
                export.is_told && !scope.guards.contains_key(&lifted)
                    || wants_callback && !scope.guards.contains_key(&callback)
            })
        };
        let is_held = |wanted| scope.guards.contains_key(&Wrapped::Held(wanted));
        if canonical::guarded(function).all(is_held) && !wants_call(scope) {
            return Ok(());
        }
        let mut guarded = Vec::new();
        for (what, core, record) in wanted(component, exports) {
            if scope.guards.contains_key(&what) {
                continue;
            }
            let place =
                component.places.get(&core).filter(|(instance, _)| scope.core_instances.has(*instance));
            let from = match place {
                _ if scope.core_functions.has(core) => guard::From::Function(scope.core_functions.get(core)),
                Some((instance, name)) => guard::From::Export(scope.core_instances.get(*instance), name),
                None => continue,
            };
            let ty = component.core_functions.get(core as usize).cloned().flatten();
            guarded.extend(ty.map(|ty| guard::Guarded { what, from, ty, record }));
        }
        if guarded.is_empty() {
            return Ok(());
        }
        scope.tables += 1;
        let count = if scope.tables > 1 { format!("[{}]", scope.tables) } else { String::new() };
        table.module.name = format!("{}{}exports{count}", table.module.name, paths[number]);
        // They may be defined in this section.
        out.section(&std::mem::take(before));
        guard::add(scope, recorder, &guarded, &mut table, out);
        // The rest waits, since each look takes a while.
        check_instances(scope)?;
        if table.id_end() > word::MAX_FUNC_ID {
            return Err(reencode::Error::UserError(ErrorKind::TooManyIds.into()));
        }
        self.outside.next_id = table.id_end();
        self.outside.tables.extend(Some(table).filter(|table| !table.symbols.is_empty()));
        Ok(())
    }
}

/// The core functions of a component that need a guard, with the recording of their calls.
fn wanted<'a>(
    component: &'a Nested<'_>,
    exports: &'a [Export],
) -> impl Iterator<Item = (Wrapped, u32, Option<guard::CallRecord<'a>>)> {
    let held = component.guarded.iter().map(|&function| (Wrapped::Held(function), function, None));
    let lifts = component.lifts.iter().zip(exports).enumerate();
    let lifted = lifts.flat_map(|(n, (lift, export))| {
        let unnamed = export.unnamed;
        let call = export.is_told.then(|| {
            let has_post_return = lift.has_post_return;
            (
                Wrapped::Lifted(n),
                lift.core,
                Some(guard::CallRecord { name: &export.name, unnamed, has_post_return }),
            )
        });
        let callback = export.callback.as_ref().filter(|(_, is_told)| *is_told).zip(lift.callback);
        let callback = callback.map(|((name, _), core)| {
            (Wrapped::Callback(n), core, Some(guard::CallRecord { name, unnamed, has_post_return: false }))
        });
        call.into_iter().chain(callback)
    });
    held.chain(lifted)
}
