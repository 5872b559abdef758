//! Flags, subcommands and formats that were removed, with what to use instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The subcommand (or none: any), what was removed, and what to use instead.
const REMOVED: &[(&str, &str, &str)] = &[
    ("send", "--resume", "send the trace again: the ids of its spans are the same"),
    ("run", "--dataset", "add the run afterwards: kperf-wasm collect TRACE -o DATASET"),
    ("", "--weights", "--clock instructions counts each instruction as one"),
    ("", "png", "write .svg, which browsers and editors show; `rsvg-convert x.svg -o x.png` converts it"),
    ("diff", "--graph", "--flame draws the change; `graph` draws each trace"),
    ("graph", "--scale", "an .svg has no pixels: it can be shown at any size"),
    (
        "graph",
        "--layout",
        "the built-in Graphviz draws; for another one: graph TRACE -o x.dot && dot -Tsvg x.dot",
    ),
    ("", "tui", "`view` walks through the call tree, `report` and `annotate` print functions and source"),
    ("", "serve", "the npm package serves: npx kperf-wasm serve"),
];

/// The error for a command line with a removed flag, subcommand or format.
pub fn error(error: &clap::Error) -> Option<String> {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::InvalidValue => ContextKind::InvalidValue,
        _ => return None,
    };
    let Some(ContextValue::String(name)) = error.get(kind) else { return None };
    let args: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into()).collect();
    let (command, rest) = args.split_first()?;
    let text = instead(command, name)?;
    // The suggested command keeps the user's arguments.
    Some(if name == "serve" { format!("{text} {}", rest.join(" ")).trim_end().to_owned() } else { text })
}

/// `png was removed: ..`, if `name` was a flag or a value of the subcommand, or the subcommand itself.
pub fn instead(command: &str, name: &str) -> Option<String> {
    let (_, name, instead) =
        REMOVED.iter().find(|(of, removed, _)| *removed == name && (of.is_empty() || *of == command))?;
    Some(format!("{name} was removed: {instead}"))
}
