//! Decides which components get a recorder, and which import the recorder's host.

use super::exports::Export;
use super::scan::Scan;
use crate::error::{Error, ErrorKind};

/// The most recorders in a component: each takes 3 kB, and 128 KiB when it runs.
const MAX_RECORDERS: usize = 1000;

/// The needs of each component, by its number in the scan.
pub(super) struct Needs {
    /// A recorder, for modules with probes that it instantiates.
    pub(super) recorder: Vec<bool>,
    /// The host's functions, for its own recorder or for components that it instantiates.
    pub(super) host: Vec<bool>,
}

impl Needs {
    /// `modules`: the bytes of modules with probes. `exports`: the functions that each component lifts.
    pub(super) fn find(
        scan: &Scan<'_>,
        modules: &[Option<&[u8]>],
        exports: &[Vec<Export>],
    ) -> Result<Needs, Error> {
        let has_probes = |&module: &usize| modules.get(module).is_some_and(Option::is_some);
        let recorder: Vec<bool> = scan
            .components
            .iter()
            .zip(exports)
            .map(|(component, exports)| {
                component.core_instantiates.iter().any(has_probes) || exports.iter().any(Export::is_recorded)
            })
            .collect();
        let stacks = scan.components.iter().zip(&recorder).filter(|(_, has)| **has);
        if let Some((what, offset)) = stacks.filter_map(|(component, _)| component.stacks).next() {
            let what = format!("{what}, whose calls would be nested in those of others,");
            return Err(ErrorKind::Unsupported { what, offset }.into());
        }
        let recorders = recorder.iter().filter(|needed| **needed).count();
        if recorders > MAX_RECORDERS {
            let (count, limit) = (recorders, MAX_RECORDERS);
            return Err(ErrorKind::TooMany { what: "components with a recorder", count, limit }.into());
        }
        let mut users = vec![Vec::new(); scan.components.len()];
        for (user, component) in scan.components.iter().enumerate() {
            component.instantiates.iter().for_each(|&used| users[used].push(user));
        }
        let mut host = recorder.clone();
        let mut new: Vec<usize> = (0..host.len()).filter(|&n| host[n]).collect();
        while let Some(used) = new.pop() {
            for &user in &users[used] {
                if !std::mem::replace(&mut host[user], true) {
                    new.push(user);
                }
            }
        }
        Ok(Needs { recorder, host })
    }

    /// Whether anything is added to the component.
    pub(super) fn anything(&self) -> bool {
        self.host.contains(&true)
    }
}
