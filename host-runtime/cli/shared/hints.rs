//! Flags that help after an error of the rewriter, which doesn't know them.

use kperf_rewriter::{Error, ErrorKind, ModuleFeature};
use std::fmt::Write;

/// The flags to add or remove after an error that the rewriter is the cause of.
pub fn of(error: &anyhow::Error) -> Option<String> {
    of_rewriter(error.chain().find_map(|cause| cause.downcast_ref::<Error>())?)
}

fn of_rewriter(error: &Error) -> Option<String> {
    let hint = match error.kind() {
        ErrorKind::InModule { error, .. } => return of_rewriter(error),
        ErrorKind::SwitchesStacks { names, others, .. } => {
            let mut flags = "leave these functions out:".to_owned();
            for name in names {
                let _ = write!(flags, " --skip '{name}'");
            }
            if *others > 0 {
                let _ = write!(flags, " and so on for {others} more");
            }
            return Some(flags);
        }
        ErrorKind::SideModule { .. } => "--probe import gives it imported probes, for a trace",
        ErrorKind::TooManyIds => "ids begin at --id-base",
        ErrorKind::NotForComponents { feature } => match feature {
            ModuleFeature::NameFile => "remove --symbols",
            ModuleFeature::Allocations => "remove --allocations",
            ModuleFeature::InlineRecorder => {
                "remove --probe inline; in a component the recorder is beside the modules"
            }
            ModuleFeature::NativeStack => "remove --stack native",
            _ => return None,
        },
        _ => return None,
    };
    Some(hint.to_owned())
}
