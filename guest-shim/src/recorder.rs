//! The recorder module: `recorder.wat` and the two modules made from it.

/// Which of its two forms a recorder has: how it learns the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// It calls `kperf:host.now` for every event.
    Precise,
    /// It loads the time from the memory `kperf:host.clock`, which another thread writes.
    Ticker,
}

impl Form {
    /// The recorder module of this form.
    pub fn wasm(self) -> &'static [u8] {
        match self {
            Form::Precise => include_bytes!("../recorder.precise.wasm"),
            Form::Ticker => include_bytes!("../recorder.ticker.wasm"),
        }
    }

    /// Its text: [`SOURCE`] with the other form's lines left out.
    pub fn source(self) -> String {
        let mut kept = String::new();
        let mut keep = true;
        for line in SOURCE.lines() {
            match line.trim() {
                ";; #if ticker" => keep = self == Form::Ticker,
                ";; #else" => keep = !keep,
                ";; #end" => keep = true,
                _ if keep => {
                    kept.push_str(line);
                    kept.push('\n');
                }
                _ => {}
            }
        }
        kept
    }
}

/// The text that both forms are made from.
pub const SOURCE: &str = include_str!("../recorder.wat");
