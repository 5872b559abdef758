//! What is on the screen, and what keys do.

use super::tree::Tree;
use crate::annotate::SourceArgs;
use kperf_abi::FuncId;
use kperf_profile::{FlatProfile, Precision, Profile, Row, Unit, rough_text};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Whether it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Draw again, and wait for the next key.
    Draw,
    /// The user wants the shell for a while.
    Stop,
    /// The user is done.
    End,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// The call tree.
    Tree,
    /// The functions, those with the most self time first.
    Functions,
}

/// A list with a row that is chosen, and the part of it that is to be seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The row that is chosen.
    pub row: usize,
    /// The first row that is to be seen.
    pub top: usize,
}

impl Place {
    /// Moves the part so that the row is in it.
    pub fn see(&mut self, height: usize, length: usize) {
        self.row = self.row.min(length.saturating_sub(1));
        let last = self.row.saturating_sub(height.saturating_sub(1));
        self.top = self.top.clamp(last, self.row).min(length.saturating_sub(height));
    }
}

/// A function's source.
pub struct Source {
    /// The text, a line each.
    pub lines: Vec<String>,
    /// The first line that is to be seen.
    pub top: usize,
}

/// All that is on the screen.
pub struct Screen<'a> {
    pub profile: &'a Profile,
    pub unit: Unit,
    pub title: &'a str,
    pub tab: Tab,
    pub tree: Tree<'a>,
    pub tree_place: Place,
    flat: FlatProfile,
    /// What times are worth, if they rest on samples or ticks.
    precision: Option<Precision>,
    /// The functions as they are listed.
    order: Vec<usize>,
    pub function_place: Place,
    pub source: Option<Source>,
    sources: &'a SourceArgs,
    /// What is searched for; being typed, or not any more.
    pub search: String,
    pub is_typing: bool,
    /// What to say in the last line instead of the keys.
    pub message: Option<String>,
    /// How many rows there is room for; drawing tells.
    pub height: usize,
}

impl<'a> Screen<'a> {
    /// The tree, open along the path that took the most time.
    pub fn new(profile: &'a Profile, sources: &'a SourceArgs, title: &'a str) -> Screen<'a> {
        let flat = FlatProfile::new(&profile.tree, &profile.symbols, &profile.header, None);
        let mut order: Vec<usize> = (0..flat.rows.len()).collect();
        let own = |index: &usize| flat.rows.get(*index).map_or(0.0, |row| row.self_nanos);
        order.sort_by(|a, b| own(b).total_cmp(&own(a)));
        let precision = profile.precision(flat.self_nanos);
        let mut tree = Tree::new(profile);
        let row = tree.open_hottest(0);
        Screen {
            profile,
            unit: Unit::of(&profile.header),
            title,
            tab: Tab::Tree,
            tree,
            tree_place: Place { row, top: 0 },
            flat,
            precision,
            order,
            function_place: Place::default(),
            source: None,
            sources,
            search: String::new(),
            is_typing: false,
            message: None,
            height: 1,
        }
    }

    /// A time, with the digits that are known.
    pub fn time(&self, nanos: f64) -> String {
        match &self.precision {
            Some(precision) => rough_text(nanos, precision.sampling_error(nanos)),
            None => self.unit.text(nanos.round() as u64),
        }
    }

    /// The functions in the order in which they are shown.
    pub fn functions(&self) -> impl Iterator<Item = &Row> {
        self.order.iter().filter_map(|&index| self.flat.rows.get(index))
    }

    fn place(&mut self) -> (&mut Place, usize) {
        match self.tab {
            Tab::Tree => (&mut self.tree_place, self.tree.rows.len()),
            Tab::Functions => (&mut self.function_place, self.order.len()),
        }
    }

    /// The function of the chosen row.
    fn chosen(&self) -> Option<FuncId> {
        match self.tab {
            Tab::Tree => {
                let row = self.tree.rows.get(self.tree_place.row)?;
                Some(self.profile.tree.get(row.id)?.func)
            }
            Tab::Functions => self.functions().nth(self.function_place.row).map(|row| row.func),
        }
    }

    /// Does what a key is for.
    pub fn press(&mut self, key: KeyEvent) -> Next {
        self.message = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Next::End;
        }
        if control && key.code == KeyCode::Char('z') {
            return Next::Stop;
        }
        if self.is_typing {
            self.type_into_search(key);
            return Next::Draw;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc if self.source.is_some() => self.source = None,
            KeyCode::Char('q') | KeyCode::Esc => return Next::End,
            KeyCode::Char('/') => {
                self.search.clear();
                self.is_typing = true;
            }
            KeyCode::Char('n') => self.find(),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::PageUp => self.go(-(self.height as isize)),
            KeyCode::PageDown | KeyCode::Char(' ') => self.go(self.height as isize),
            KeyCode::Home | KeyCode::Char('g') => self.go(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.go(isize::MAX),
            _ if self.source.is_some() => {}
            KeyCode::Tab | KeyCode::BackTab => {
                self.tab = if self.tab == Tab::Tree { Tab::Functions } else { Tab::Tree };
            }
            KeyCode::Enter => self.show_source(),
            KeyCode::Right | KeyCode::Char('l') if self.tab == Tab::Tree => {
                self.tree.set_open(self.tree_place.row, true);
            }
            KeyCode::Left | KeyCode::Char('h') if self.tab == Tab::Tree => self.close(),
            KeyCode::Char('e') if self.tab == Tab::Tree => {
                self.tree_place.row = self.tree.open_hottest(self.tree_place.row);
            }
            _ => {}
        }
        Next::Draw
    }

    fn go(&mut self, by: isize) {
        if let Some(Source { lines, top }) = &mut self.source {
            *top = top.saturating_add_signed(by).min(lines.len().saturating_sub(1));
            return;
        }
        let (place, length) = self.place();
        place.row = place.row.saturating_add_signed(by).min(length.saturating_sub(1));
    }

    /// Hides what the row called, or goes to its caller.
    fn close(&mut self) {
        let row = self.tree_place.row;
        let is_open = self.tree.rows.get(row).is_some_and(|row| row.state == super::tree::State::Open);
        if is_open {
            self.tree.set_open(row, false);
        } else if let Some(caller) = self.tree.caller(row) {
            self.tree_place.row = caller;
        }
    }

    fn type_into_search(&mut self, key: KeyEvent) {
        let with_others = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter => {
                self.is_typing = false;
                self.find();
            }
            KeyCode::Esc => self.is_typing = false,
            KeyCode::Backspace => {
                self.search.pop();
            }
            // As in a shell: all, the last word.
            KeyCode::Char('u') if with_others => self.search.clear(),
            KeyCode::Char('w') if with_others => {
                let words = self.search.trim_end();
                self.search.truncate(words.rfind(' ').map_or(0, |space| space + 1));
            }
            KeyCode::Char(letter) if !with_others => self.search.push(letter),
            _ => {}
        }
    }

    /// Goes to the next function whose name has the text; capitals count if there are any.
    fn find(&mut self) {
        if self.search.is_empty() {
            self.message = Some("nothing is searched for: / begins".to_owned());
            return;
        }
        let text = self.search.clone();
        let any_case = !text.chars().any(char::is_uppercase);
        let has =
            |name: &str| if any_case { name.to_lowercase().contains(&text) } else { name.contains(&text) };
        let found = match self.tab {
            Tab::Tree => {
                let profile = self.profile;
                let name = |id| profile.tree.get(id).map(|node| profile.symbols.label(node.func));
                self.tree.find(self.tree_place.row, |id| name(id).is_some_and(|name| has(&name)))
            }
            Tab::Functions => {
                let rows: Vec<bool> =
                    self.functions().map(|row| has(&self.profile.symbols.label(row.func))).collect();
                let begin = self.function_place.row + 1;
                let order = (begin..rows.len()).chain(0..begin.min(rows.len()));
                order.into_iter().find(|&at| rows[at])
            }
        };
        match found {
            Some(row) => self.place().0.row = row,
            None => self.message = Some(format!("no function has `{}` in its name", self.search)),
        }
    }

    fn show_source(&mut self) {
        let Some(func) = self.chosen() else { return };
        let Some(row) = self.flat.rows.iter().find(|row| row.func == func) else {
            self.message = Some("this is no function of the module".to_owned());
            return;
        };
        let mut text = Vec::new();
        match self.sources.write(self.profile, row, u32::MAX, &mut text) {
            Ok(hint) => {
                let text = String::from_utf8_lossy(&text);
                let hint = hint.map(|hint| format!("# {hint}"));
                let lines: Vec<String> = hint.into_iter().chain(text.lines().map(str::to_owned)).collect();
                self.source = Some(Source { lines, top: 0 });
            }
            Err(error) => self.message = Some(format!("{error:#}")),
        }
    }
}
