//! Where a call may reach a function of the host that calls back into the guest, catches what goes wrong there, and
//! returns as if nothing had happened: the frames it left open must be closed by the caller. Emscripten's `invoke_*` do
//! so, and JavaScript functions may sit in tables (`addFunction`). A module that no host function can get into doesn't
//! pay for it.

use crate::parse::ModuleInfo;

/// Which calls may run host functions.
pub(crate) struct HostReach {
    imports: Vec<bool>,
    tables: Vec<bool>,
    refs: bool,
}

impl HostReach {
    pub(crate) fn find(info: &ModuleInfo<'_>) -> HostReach {
        let imports = info.imported_funcs.iter().map(|import| !never_calls_back(import.module)).collect();
        let refs = info.host_refs.import_is_referenced || info.host_refs.passed_in;
        // Which table a reference is copied to would need a look at every body. Modules with several tables are rare:
        // there, one that is open opens all.
        let any_open = info.tables.iter().any(|table| table.open_to_host || table.holds_import);
        let tables = info.tables.iter().map(|_| refs || any_open).collect();
        HostReach { imports, tables, refs: refs || any_open }
    }

    /// Whether calling this import may leave frames open.
    pub(crate) fn import(&self, index: u32) -> bool {
        self.imports.get(index as usize).copied().unwrap_or(false)
    }

    /// Whether `call_indirect` through this table may.
    pub(crate) fn table(&self, index: u32) -> bool {
        self.tables.get(index as usize).copied().unwrap_or(true)
    }

    /// Whether `call_ref` may.
    pub(crate) fn refs(&self) -> bool {
        self.refs
    }

    /// Whether any table may hold a host function.
    pub(crate) fn any_table(&self) -> bool {
        self.tables.contains(&true)
    }
}

/// WASI preview 1 has no callbacks, and engine builtins are instructions in all but name.
fn never_calls_back(module: &str) -> bool {
    module.starts_with("wasm:") || matches!(module, "wasi_snapshot_preview1" | "wasi_unstable")
}
