//! `kperf-wasm tui`: a trace in the terminal, to walk through.

mod draw;
mod screen;
mod tree;

use crate::annotate::SourceArgs;
use crate::dataset::WhereArgs;
use crate::filters::CallArgs;
use crate::traces;
use anyhow::{Context, bail};
use kperf_profile::Profile;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use screen::{Next, Screen};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

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
        let calls = self.calls.parse()?;
        let profile = match self.dataset.profile(&self.trace, &calls)? {
            Some(profile) => profile,
            None => traces::profile_of(&self.trace, &calls)?,
        };
        if profile.tree.nodes().len() <= 1 {
            bail!("`{}` has no calls to show", self.trace.display());
        }
        self.show(&profile).context("failed to use the terminal")?;
        // On the screen nobody would see these.
        traces::tell_warnings(&profile.health);
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, profile: &Profile) -> io::Result<()> {
        let title = self.trace.display().to_string();
        let mut screen = Screen::new(profile, &self.sources, &title);
        // It gives the terminal back, also where the program panics.
        let mut terminal = ratatui::try_init()?;
        let shown = loop {
            if let Err(error) = terminal.draw(|frame| draw::draw(&mut screen, frame)) {
                break Err(error);
            }
            match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    if screen.press(key) == Next::End {
                        break Ok(());
                    }
                }
                // Another size draws anew.
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        ratatui::try_restore()?;
        shown
    }
}
