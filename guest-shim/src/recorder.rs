//! The recorder modules: `recorder.wat` and the three made from it, `profile.wat` and the two made from that, `counts.wat`.

/// Which of its forms a recorder has: how it learns the time, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// It calls `kperf:host.now` for every event.
    Precise,
    /// It loads the time from the memory `kperf:host.clock`, which another thread writes.
    Ticker,
    /// It becomes a part of the module that it records (see [`crate::names::INLINE_ENTER`]), and takes either clock.
    Inline,
    /// It becomes a part of the module too, counts calls, and keeps a stack that a host can look at (see [`crate::shadow`]).
    Profile,
    /// The same, and the stack tells one call of a function from the next.
    ProfileSpans,
    /// It becomes a part of the module, and counts calls: no more.
    Counts,
}

impl Form {
    /// The recorder module of this form.
    pub fn wasm(self) -> &'static [u8] {
        match self {
            Form::Precise => include_bytes!("../recorder.precise.wasm"),
            Form::Ticker => include_bytes!("../recorder.ticker.wasm"),
            Form::Inline => include_bytes!("../recorder.inline.wasm"),
            Form::Profile => include_bytes!("../profile.wasm"),
            Form::ProfileSpans => include_bytes!("../profile.spans.wasm"),
            Form::Counts => include_bytes!("../counts.wasm"),
        }
    }

    /// How many of the first parameters of its templates stand for constants; the others stand for locals.
    pub fn constants(self) -> u32 {
        match self {
            Form::Profile | Form::ProfileSpans => 3,
            Form::Counts => 2,
            Form::Precise | Form::Ticker | Form::Inline => 1,
        }
    }

    /// Whether it makes profiles.
    pub fn is_profile(self) -> bool {
        matches!(self, Form::Profile | Form::ProfileSpans | Form::Counts)
    }

    /// Its text: that of the file that it is made from, with the other forms' lines left out.
    pub fn source(self) -> String {
        let mut kept = String::new();
        let mut keep = true;
        let source = match self {
            Form::Precise | Form::Ticker | Form::Inline => SOURCE,
            Form::Profile | Form::ProfileSpans => PROFILE_SOURCE,
            Form::Counts => COUNTS_SOURCE,
        };
        for line in source.lines() {
            match line.trim() {
                ";; #else" => keep = !keep,
                ";; #end" => keep = true,
                directive if directive.starts_with(";; #if ") => {
                    keep = directive.split_whitespace().any(|word| word == self.as_str());
                }
                _ if keep => {
                    kept.push_str(line);
                    kept.push('\n');
                }
                _ => {}
            }
        }
        let [get, set] = match self {
            Form::Precise | Form::Ticker => ["(i32.load (i32.const 64))", "(i32.store (i32.const 64)"],
            Form::Inline => ["(global.get $position)", "(global.set $position"],
            Form::Profile | Form::ProfileSpans | Form::Counts => return kept,
        };
        let code = kept.find("(module").unwrap_or(0);
        let (head, code) = kept.split_at(code);
        head.to_owned() + &code.replace("(position.get)", get).replace("(position.set", set)
    }

    fn as_str(self) -> &'static str {
        match self {
            Form::Precise => "precise",
            Form::Ticker => "ticker",
            Form::Inline => "inline",
            Form::Profile => "profile",
            Form::ProfileSpans => "spans",
            Form::Counts => "counts",
        }
    }
}

/// The text that the recorders of traces are made from.
pub const SOURCE: &str = include_str!("../recorder.wat");
/// The text that the recorders of profiles are made from.
pub const PROFILE_SOURCE: &str = include_str!("../profile.wat");
/// The text of the one that only counts.
pub const COUNTS_SOURCE: &str = include_str!("../counts.wat");
