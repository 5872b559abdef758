//! The table in `README.md`.

use super::case::{Case, Host};
use super::packages::Packages;
use super::stats::Stats;
use std::fmt::Write;

/// A row for each program, without counts of calls, which differ a little from run to run.
pub(crate) fn of(mut rows: Vec<(&Case, Stats)>, packages: &Packages) -> String {
    rows.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    let mut text = String::from(
        "| program | package | toolchain | beside calls and returns | host | modules | functions | frames also closed by |\n\
         |---|---|---|---|---|--:|--:|---|\n",
    );
    for (case, stats) in rows {
        let host = match case.host {
            Host::Node => "node",
            Host::NewNode => "node 24",
            Host::Wasmtime { .. } => "wasmtime",
        };
        let words = case.expect.iter().filter(|word| *word != "varies");
        let closed = words.map(|word| match word.as_str() {
            "unwound" => "a catch",
            "left" => "leaving the guest",
            _ => "the program's end",
        });
        writeln!(
            text,
            "| {} | {} {} | {} | {} | {host} | {} | {} | {} |",
            case.name,
            case.package,
            packages.version(&case.package),
            case.toolchain,
            case.covers,
            stats.modules,
            stats.probed,
            closed.collect::<Vec<_>>().join(", "),
        )
        .unwrap();
    }
    text
}
