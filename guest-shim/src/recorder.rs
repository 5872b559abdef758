//! The recorder modules, built from `recorder.wat` and `tree.wat` with their parts, from `profile.wat` and `counts.wat`.

/// The form of a recorder: its clock, and whether it is beside a module, inside it or in a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// It calls `kperf:host.now` for every event.
    Precise,
    /// It loads the time from the memory `kperf:host.clock`, which another thread writes.
    Ticker,
    /// It becomes a part of the module that it records (see [`crate::names::INLINE_ENTER`]), and takes either clock.
    Inline,
    /// As [`Inline`](Form::Inline), but its clock is the number of instructions that the module has executed (see
    /// [`crate::names::STATE_INSTRUCTIONS`]).
    Instructions,
    /// It is part of a component, beside the core modules that it records, and takes either clock.
    Component,
    /// As [`Component`](Form::Component), but its clock is the number of executed instructions: the core
    /// modules add theirs to a global that the recorder exports (see [`crate::names::INSTRUCTIONS`]).
    ComponentInstructions,
    /// As [`ProfileSpans`](Form::ProfileSpans), but it is part of a component, beside the core modules.
    ComponentProfile,
    /// As [`Inline`](Form::Inline), and it records allocations.
    InlineAllocations,
    /// As [`Instructions`](Form::Instructions), and it records allocations.
    InstructionsAllocations,
    /// It becomes a part of the module, counts calls, and keeps a stack that a host can read (see
    /// [`crate::shadow`]).
    Profile,
    /// As [`Profile`](Form::Profile), but slots of successive calls of a function differ.
    ProfileSpans,
    /// It becomes a part of the module, and only counts calls.
    Counts,
    /// It becomes a part of the module, in its memory, and keeps a call tree that the host fetches (see [`crate::tree`]).
    Tree,
    /// As [`Tree`](Form::Tree), but it reads the clock of WASI and writes a file through it.
    TreeFiles,
}

impl Form {
    /// The forms that become a part of their module.
    pub const INSIDE: [Form; 9] = [
        Form::Inline,
        Form::Instructions,
        Form::InlineAllocations,
        Form::InstructionsAllocations,
        Form::Profile,
        Form::ProfileSpans,
        Form::Counts,
        Form::Tree,
        Form::TreeFiles,
    ];

    /// The recorder module of this form.
    pub fn wasm(self) -> &'static [u8] {
        match self {
            Form::Precise => include_bytes!("recorder/recorder.precise.wasm"),
            Form::Ticker => include_bytes!("recorder/recorder.ticker.wasm"),
            Form::Inline => include_bytes!("recorder/recorder.inline.wasm"),
            Form::Instructions => include_bytes!("recorder/recorder.instructions.wasm"),
            Form::Component => include_bytes!("recorder/recorder.component.wasm"),
            Form::ComponentInstructions => include_bytes!("recorder/recorder.component.instructions.wasm"),
            Form::ComponentProfile => include_bytes!("recorder/profile.component.wasm"),
            Form::InlineAllocations => include_bytes!("recorder/recorder.inline.allocations.wasm"),
            Form::InstructionsAllocations => {
                include_bytes!("recorder/recorder.instructions.allocations.wasm")
            }
            Form::Profile => include_bytes!("recorder/profile.wasm"),
            Form::ProfileSpans => include_bytes!("recorder/profile.spans.wasm"),
            Form::Counts => include_bytes!("recorder/counts.wasm"),
            Form::Tree => include_bytes!("recorder/tree.wasm"),
            Form::TreeFiles => include_bytes!("recorder/tree.files.wasm"),
        }
    }

    /// How many leading parameters of its templates become constants. The others become locals.
    pub fn constants(self) -> u32 {
        match self {
            Form::Profile | Form::ProfileSpans => 3,
            Form::Counts => 2,
            _ => 1,
        }
    }

    /// Whether it makes profiles.
    pub fn is_profile(self) -> bool {
        matches!(self, Form::Profile | Form::ProfileSpans | Form::Counts)
    }

    /// The WAT of this form: the file without the lines of other forms.
    pub fn source(self) -> String {
        let mut kept = String::new();
        // For each open `#if`: whether its lines are kept.
        let mut keep = Vec::new();
        let source = match self {
            Form::Profile | Form::ProfileSpans | Form::ComponentProfile => {
                include_str!("recorder/profile.wat")
            }
            Form::Counts => include_str!("recorder/counts.wat"),
            Form::Tree | Form::TreeFiles => include_str!("recorder/tree.wat"),
            _ => include_str!("recorder/recorder.wat"),
        };
        let source =
            PARTS.iter().fold(source.to_owned(), |source, (include, part)| source.replace(include, part));
        for line in source.lines() {
            match line.trim() {
                ";; #else" => keep.iter_mut().last().into_iter().for_each(|keep: &mut bool| *keep = !*keep),
                ";; #end" => {
                    keep.pop();
                }
                directive if directive.starts_with(";; #if ") => {
                    keep.push(directive.split_whitespace().any(|word| self.words().contains(&word)));
                }
                _ if keep.iter().all(|&keep| keep) => {
                    kept.push_str(line);
                    kept.push('\n');
                }
                _ => {}
            }
        }
        let state = match self {
            Form::Precise | Form::Ticker => &IN_MEMORY,
            Form::Component | Form::ComponentInstructions => &IN_GLOBALS,
            Form::Profile | Form::ProfileSpans | Form::ComponentProfile | Form::Counts => return kept,
            Form::Tree | Form::TreeFiles => return kept,
            Form::Inline | Form::Instructions | Form::InlineAllocations | Form::InstructionsAllocations => {
                &IN_ONE
            }
        };
        let code = kept.find("(module").unwrap_or(0);
        let (head, code) = kept.split_at(code);
        let time = if self == Form::Component { "(call $ask)" } else { "(call $host_now)" };
        let mut code = code.replace("(time.get)", time);
        for variable in state {
            code = code.replace(&format!("({}.get)", variable.name), variable.get);
            code = expand(&code, &format!("({}.set ", variable.name), variable.set);
        }
        head.to_owned() + &code
    }

    /// The words for it in the conditions of `#if`.
    fn words(self) -> &'static [&'static str] {
        match self {
            Form::Precise => &["precise", "allocations"],
            Form::Ticker => &["ticker", "allocations"],
            Form::Inline => &["inline"],
            Form::Instructions => &["instructions"],
            Form::Component => &["component", "asking"],
            Form::ComponentInstructions => &["component", "counted"],
            Form::ComponentProfile => &["component"],
            Form::InlineAllocations => &["inline", "allocations"],
            Form::InstructionsAllocations => &["instructions", "allocations"],
            Form::Profile => &["profile"],
            Form::ProfileSpans => &["spans"],
            Form::Counts => &["counts"],
            Form::Tree => &["bare"],
            Form::TreeFiles => &["files"],
        }
    }
}

/// A variable of a recorder: the WAT that replaces `(name.get)`, and the WAT before and after the value of
/// `(name.set value)`.
struct Variable {
    name: &'static str,
    get: &'static str,
    set: [&'static str; 2],
}

const DEPTH: Variable =
    Variable { name: "depth", get: "(global.get $depth)", set: ["(global.set $depth ", ")"] };

/// The position is in memory, where other threads see it.
const IN_MEMORY: [Variable; 2] = [
    Variable { name: "position", get: "(i32.load (i32.const 64))", set: ["(i32.store (i32.const 64) ", ")"] },
    DEPTH,
];

const IN_GLOBALS: [Variable; 2] = [
    Variable { name: "position", get: "(global.get $position)", set: ["(global.set $position ", ")"] },
    DEPTH,
];

/// One global holds both.
const IN_ONE: [Variable; 2] = [
    Variable {
        name: "position",
        get: "(i32.wrap_i64 (global.get $head))",
        set: [
            "(global.set $head (i64.or (i64.and (global.get $head) (i64.const 0xffffffff00000000)) (i64.extend_i32_u ",
            ")))",
        ],
    },
    Variable {
        name: "depth",
        get: "(i32.wrap_i64 (i64.shr_u (global.get $head) (i64.const 32)))",
        set: [
            "(global.set $head (i64.or (i64.and (global.get $head) (i64.const 0xffffffff)) (i64.shl (i64.extend_i32_u ",
            ") (i64.const 32))))",
        ],
    },
];

/// Replaces `begin` and the closing parenthesis of each expression that begins with `begin` by the two texts
/// of `around`.
fn expand(code: &str, begin: &str, around: [&str; 2]) -> String {
    let (mut made, mut rest) = (String::new(), code);
    while let Some((before, after)) = rest.split_once(begin) {
        let mut open = 1;
        let end = after.find(|sign| {
            open += i32::from(sign == '(') - i32::from(sign == ')');
            open == 0
        });
        let (value, after_value) = after.split_at(end.unwrap_or(after.len()));
        made.extend([before, around[0], &expand(value, begin, around), around[1]]);
        rest = after_value.get(1..).unwrap_or_default();
    }
    made + rest
}

/// The parts that `recorder.wat` and `tree.wat` include.
const PARTS: [(&str, &str); 4] = [
    (";; #include recorder.component.wat", include_str!("recorder/recorder.component.wat")),
    (";; #include recorder.allocations.wat", include_str!("recorder/recorder.allocations.wat")),
    (";; #include recorder.inside.wat", include_str!("recorder/recorder.inside.wat")),
    (";; #include tree.file.wat", include_str!("recorder/tree.file.wat")),
];
