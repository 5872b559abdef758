//! `kperf-wasm tui`: a trace in the terminal, to walk through.

mod draw;
mod interrupts;
mod screen;
mod tree;

use crate::annotate::SourceArgs;
use crate::dataset::WhereArgs;
use crate::filters::CallArgs;
use crate::traces;
use anyhow::{Context, bail};
use interrupts::{Interrupt, Interrupts, stop};
use kperf_profile::Profile;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use screen::{Next, Screen};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Walk through a trace in the terminal: the call tree, functions by self time, source
///
/// The tree opens along the path that took the most time. Enter shows the source of a function beside its figures, as `annotate` does.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Opts {
    /// The trace, or a dataset that `collect` has made.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    dataset: WhereArgs,
    #[command(flatten)]
    calls: CallArgs,
}

const EXAMPLES: &str = "\
Keys:
  up, down, page up, page down, home, end     move                   (or k, j)
  right, left                                 open, close            (or l, h)
  enter                                       source of the function
  tab                                         tree, functions by self time
  /                                           search; n: the next one
  e                                           open the path that took the most time
  q, escape                                   back; end
  control z                                   stop; `fg` goes on

Examples:
  kperf-wasm tui app.kperf
  kperf-wasm tui app.kperf --only 'app::*' --source ~/src/app

Exit codes:
  0 fine, 1 failure, 2 wrong usage";

impl Opts {
    /// Shows the trace until the user ends it.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            bail!(
                "`tui` wants a terminal for its keys and its screen; `report` prints the functions anywhere"
            );
        }
        if self.trace.as_os_str() == "-" {
            bail!(
                "`tui` reads keys from standard input, so no trace can come from there; write it to a file"
            );
        }
        let calls = self.calls.parse()?;
        let profile = match self.dataset.profile(&self.trace, &calls)? {
            Some(profile) => profile,
            None => traces::profile_of(&self.trace, &calls)?,
        };
        if profile.tree.nodes().len() <= 1 {
            traces::tell_warnings(&profile.health);
            bail!("`{}` has no calls to show", self.trace.display());
        }
        let code = self.show(&profile).context("failed to use the terminal")?;
        // On the screen nobody would see these.
        traces::tell_warnings(&profile.health);
        Ok(code)
    }

    fn show(&self, profile: &Profile) -> io::Result<ExitCode> {
        let title = self.trace.display().to_string();
        let mut screen = Screen::new(profile, &self.sources, &title);
        let mut interrupts = Interrupts::new()?;
        loop {
            // It gives the terminal back, also where the program panics.
            let mut terminal = ratatui::try_init()?;
            let came = walk(&mut screen, &mut terminal, &mut interrupts);
            ratatui::try_restore()?;
            match came? {
                Some(Interrupt::Stop) => stop()?,
                Some(Interrupt::GoOn) => {}
                Some(Interrupt::End(signal)) => {
                    return Ok(ExitCode::from(128_u8.saturating_add(signal as u8)));
                }
                None => return Ok(ExitCode::SUCCESS),
            }
        }
    }
}

/// Shows the screen and does what keys say, until something else comes, or until the user has seen enough: `None`.
fn walk(
    screen: &mut Screen<'_>,
    terminal: &mut ratatui::DefaultTerminal,
    interrupts: &mut Interrupts,
) -> io::Result<Option<Interrupt>> {
    loop {
        terminal.draw(|frame| draw::draw(screen, frame))?;
        while !event::poll(PATIENCE)? {
            if let Some(interrupt) = interrupts.next() {
                return Ok(Some(interrupt));
            }
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match screen.press(key) {
                Next::Draw => {}
                Next::Stop => return Ok(Some(Interrupt::Stop)),
                Next::End => return Ok(None),
            },
            // Another size draws anew.
            _ => {}
        }
    }
}

/// How long it takes at most until a signal is answered.
const PATIENCE: Duration = Duration::from_millis(100);
