//! The recorder modules: those made from `recorder.wat` and from `profile.wat`, and `counts.wat`.

/// The form of a recorder: how it learns the time, and where it stands.
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
    /// It stands in a component, beside the core modules that it records, and takes either clock.
    Component,
    /// As [`Component`](Form::Component), but its clock is the number of instructions that the core modules have executed: they add
    /// it to a global that the recorder exports (see [`crate::names::INSTRUCTIONS`]).
    ComponentInstructions,
    /// As [`ProfileSpans`](Form::ProfileSpans), but it stands in a component, beside the core modules.
    ComponentProfile,
    /// As [`Inline`](Form::Inline), and it records what is allocated.
    InlineAllocations,
    /// As [`Instructions`](Form::Instructions), and it records what is allocated.
    InstructionsAllocations,
    /// It becomes a part of the module too, counts calls, and keeps a stack that a host can look at (see [`crate::shadow`]).
    Profile,
    /// As [`Profile`](Form::Profile), but a slot of the stack also tells one call of a function from the next.
    ProfileSpans,
    /// It becomes a part of the module, and only counts calls.
    Counts,
}

impl Form {
    /// The forms that become a part of their module.
    pub const INSIDE: [Form; 7] = [
        Form::Inline,
        Form::Instructions,
        Form::InlineAllocations,
        Form::InstructionsAllocations,
        Form::Profile,
        Form::ProfileSpans,
        Form::Counts,
    ];

    /// The recorder module of this form.
    pub fn wasm(self) -> &'static [u8] {
        match self {
            Form::Precise => include_bytes!("../recorder.precise.wasm"),
            Form::Ticker => include_bytes!("../recorder.ticker.wasm"),
            Form::Inline => include_bytes!("../recorder.inline.wasm"),
            Form::Instructions => include_bytes!("../recorder.instructions.wasm"),
            Form::Component => include_bytes!("../recorder.component.wasm"),
            Form::ComponentInstructions => include_bytes!("../recorder.component.instructions.wasm"),
            Form::ComponentProfile => include_bytes!("../profile.component.wasm"),
            Form::InlineAllocations => include_bytes!("../recorder.inline.allocations.wasm"),
            Form::InstructionsAllocations => include_bytes!("../recorder.instructions.allocations.wasm"),
            Form::Profile => include_bytes!("../profile.wasm"),
            Form::ProfileSpans => include_bytes!("../profile.spans.wasm"),
            Form::Counts => include_bytes!("../counts.wasm"),
        }
    }

    /// How many of the first parameters of its templates become constants. The others become locals.
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

    /// The text that this form is made from: its file without the lines of other forms.
    pub fn source(self) -> String {
        let mut kept = String::new();
        // Of each `#if` that is open whether its lines are kept.
        let mut keep = Vec::new();
        let source = match self {
            Form::Profile | Form::ProfileSpans | Form::ComponentProfile => PROFILE_SOURCE,
            Form::Counts => COUNTS_SOURCE,
            _ => SOURCE,
        };
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
        let [get, set] = match self {
            Form::Precise | Form::Ticker => ["(i32.load (i32.const 64))", "(i32.store (i32.const 64)"],
            Form::Profile | Form::ProfileSpans | Form::ComponentProfile | Form::Counts => return kept,
            _ => ["(global.get $position)", "(global.set $position"],
        };
        let code = kept.find("(module").unwrap_or(0);
        let (head, code) = kept.split_at(code);
        let time = if self == Form::Component { "(call $ask)" } else { "(call $host_now)" };
        let code = code.replace("(time.get)", time).replace("(position.get)", get);
        head.to_owned() + &code.replace("(position.set", set)
    }

    /// What it is called in the text that it is made from.
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
        }
    }
}

/// The text that the recorders of traces are made from.
pub const SOURCE: &str = include_str!("../recorder.wat");
/// The text that the recorders of profiles are made from.
pub const PROFILE_SOURCE: &str = include_str!("../profile.wat");
/// The text of the recorder that only counts.
pub const COUNTS_SOURCE: &str = include_str!("../counts.wat");
