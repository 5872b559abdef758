//! Maps of names that a minifier has shortened, as ProGuard and R8 write them:
//!
//! ```text
//! # comment
//! com.example.Life -> a.b:
//!     int width -> a
//!     1:3:void step(int):12:14 -> c
//!     boolean isAlive(int,int) -> d
//! ```
//!
//! A function that the module calls `a.b.c` is `com.example.Life.step`. Source: R8's `doc/retrace.md`.

use crate::names::MAX_NAMES;
use crate::{Error, ErrorKind};
use std::collections::HashMap;

/// More names than that aren't told of one.
const MAX_TOLD: usize = 4;

/// What shortened names were.
#[derive(Clone, Debug, Default)]
pub struct RenamedNames {
    /// By the shortened name.
    classes: HashMap<Box<str>, Class>,
}

#[derive(Clone, Debug, Default)]
struct Class {
    name: Box<str>,
    /// By the shortened name: what may be meant, each once and in the order of the map.
    methods: HashMap<Box<str>, Vec<Box<str>>>,
}

impl RenamedNames {
    /// Whether a text is such a map: its first line that isn't a comment is a class's.
    pub fn is_one(text: &str) -> bool {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        lines.next().is_some_and(|line| class(line).is_some())
    }

    /// Reads a map. Lines that it doesn't know are passed over, as those who define the format want it.
    ///
    /// # Errors
    ///
    /// If it has more than two million names of classes and methods.
    pub fn parse(text: &str) -> Result<RenamedNames, Error> {
        let mut map = RenamedNames::default();
        let mut room = MAX_NAMES;
        let mut take = || {
            room = room.checked_sub(1).ok_or(ErrorKind::LargeNameMap { most: MAX_NAMES })?;
            Ok::<_, ErrorKind>(())
        };
        let mut at: Option<Box<str>> = None;
        // Of methods that are inlined in each other, which have the same lines, the last is the function.
        let mut last: Option<(&str, &str)> = None;
        for line in text.lines() {
            if let Some((name, short)) = class(line) {
                take()?;
                (at, last) = (Some(short.into()), None);
                map.classes.entry(short.into()).or_default().name = name.into();
                continue;
            }
            let Some((lines, name, short)) = method(line) else { continue };
            let Some(class) = at.as_ref().and_then(|at| map.classes.get_mut(at)) else { continue };
            let names = class.methods.entry(short.into()).or_default();
            if last.is_some_and(|last| !lines.is_empty() && last == (lines, short)) {
                names.pop();
            }
            last = Some((lines, short));
            if names.len() <= MAX_TOLD && !names.iter().any(|known| **known == *name) {
                take()?;
                names.push(name.into());
            }
        }
        Ok(map)
    }

    /// What a function was called, by what the module calls it: `a.b.c`, `a.b#c`, `a.b::c`, with parameters or without. Several
    /// that can't be told apart are all told: `Life.step|isAlive`.
    pub fn get(&self, short: &str) -> Option<String> {
        let parameters = short.find('(').unwrap_or(short.len());
        let (path, rest) = short.split_at(parameters);
        let at = path.rfind(['.', '#', ':', '/', '$'])?;
        let method = path.get(at + 1..)?;
        let before = path.get(..at)?;
        let class = before.trim_end_matches(':');
        let between = path.get(class.len()..at + 1)?;
        let Class { name, methods } =
            self.classes.get(class).or_else(|| self.classes.get(&*class.replace('/', ".")))?;
        let method = match methods.get(method).map(Vec::as_slice) {
            None | Some([]) => method.to_owned(),
            // Whatever class it was of before.
            Some([one]) if one.contains('.') => return Some(format!("{one}{rest}")),
            Some(several) if several.len() > MAX_TOLD => {
                format!("{}|..", several.get(..MAX_TOLD).unwrap_or_default().join("|"))
            }
            Some(several) => several.join("|"),
        };
        Some(format!("{name}{between}{method}{rest}"))
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }
}

/// The names in a class's line: the one before and the short one.
fn class(line: &str) -> Option<(&str, &str)> {
    let (name, short) = line.trim_end().strip_suffix(':')?.split_once(" -> ")?;
    (!name.starts_with(char::is_whitespace) && !name.is_empty() && !short.is_empty()).then_some((name, short))
}

/// The names in a method's line: the lines that its code has, what it was called, its short name.
fn method(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.strip_prefix(char::is_whitespace)?.trim();
    let (what, short) = line.split_once(" -> ")?;
    if what.starts_with('#') {
        return None;
    }
    let (before, _) = what.split_once('(')?;
    // `1:3:void step`, or `void step`.
    let (typed, name) = before.rsplit_once(' ')?;
    let lines = typed.rsplit_once(':').map_or("", |(lines, _)| lines);
    (!name.is_empty() && !short.is_empty()).then_some((lines, name, short))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "# compiler: R8\n# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}\n\
        com.example.Life -> a.b:\n\
        # {\"id\":\"sourceFile\",\"fileName\":\"Life.kt\"}\n    int width -> a\n\
        \x20   1:3:void step(int):12:14 -> c\n\
        \x20   4:4:int com.example.Cell.at(int):7:7 -> d\n    4:4:boolean isAlive(int,int):20 -> d\n\
        \x20   void one() -> e\n    void other(int) -> e\n\
        com.example.Outer$Inner -> a.c:\n    void <init>() -> <init>\n    long com.example.Gone.moved() -> x\n";

    #[test]
    fn short_names_are_what_they_were() {
        assert!(RenamedNames::is_one(MAP));
        let map = RenamedNames::parse(MAP).unwrap();
        let cases = [
            ("a.b.c", Some("com.example.Life.step")),
            ("a.b.c(int)", Some("com.example.Life.step(int)")),
            ("a/b.c", Some("com.example.Life.step")),
            ("a.b#c", Some("com.example.Life#step")),
            ("a.b::c", Some("com.example.Life::step")),
            // What is inlined isn't the function.
            ("a.b.d", Some("com.example.Life.isAlive")),
            // By its parameters only it could be told.
            ("a.b.e", Some("com.example.Life.one|other")),
            ("a.c.<init>", Some("com.example.Outer$Inner.<init>")),
            ("a.c.x", Some("com.example.Gone.moved")),
            // Of the class, and a method that kept its name.
            ("a.b.main", Some("com.example.Life.main")),
            ("a.d.c", None),
            ("main", None),
            ("", None),
            (".", None),
            ("::", None),
            ("(", None),
        ];
        for (short, expected) in cases {
            assert_eq!(map.get(short).as_deref(), expected, "{short}");
        }
    }

    #[test]
    fn other_texts_are_no_such_maps() {
        for text in
            ["", "# only a comment", "0:main\n1:a -> b:\n", " a -> b:\n", "a -> b", " -> b:", "a -> :"]
        {
            assert!(!RenamedNames::is_one(text), "{text}");
        }
        let map = RenamedNames::parse("a -> b:\n x\n y -> z\n ( -> \n 1:() -> q\n é( -> é\n").unwrap();
        assert_eq!(map.get("b.q").as_deref(), Some("a.q"));
    }

    /// A name takes hundreds of bytes, and as few as four in the file.
    #[test]
    fn a_map_of_too_many_names_is_refused() {
        let classes = |count: usize| (0..count).map(|n| format!("A -> b{n}:\n")).collect::<String>();
        RenamedNames::parse(&classes(MAX_NAMES / 8)).unwrap();
        RenamedNames::parse(&classes(MAX_NAMES + 1)).unwrap_err();
        let methods: String = (0..=MAX_NAMES).map(|n| format!(" v m() -> x{n}\n")).collect();
        RenamedNames::parse(&format!("A -> b:\n{methods}")).unwrap_err();
    }
}
