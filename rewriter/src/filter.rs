//! Patterns for function names.

use crate::error::{Error, ErrorKind};
use crate::glob;
use kperf_abi::printable;
use regex::Regex;
use std::collections::HashSet;

/// A pattern for function names: a glob that matches the whole name (`life::*`, where `*` matches any text), or a
/// regular expression between slashes that matches anywhere (`/^life::/`).
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Parses a pattern. Fails on an invalid glob or regular expression.
    pub fn parse(text: &str) -> Result<Pattern, Error> {
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(regex) => Pattern::new(text, regex),
            None => Pattern::glob(text),
        }
    }

    /// A glob, whatever its first character. Fails on an invalid one.
    pub fn glob(text: &str) -> Result<Pattern, Error> {
        let regex = match glob::regex_of(text) {
            Ok(regex) => regex,
            // A name as reports show it: `operator[](int)`, `\u{1b}[31m`.
            Err(_) if text.contains("[]") || text.contains('\\') => format!("^{}$", regex::escape(text)),
            Err(why) => return Err(bad(text, why)),
        };
        Pattern::new(text, &regex)
    }

    /// A regular expression that matches anywhere. Fails on an invalid one.
    pub fn regex(text: &str) -> Result<Pattern, Error> {
        Pattern::new(text, text)
    }

    /// A text that names contain.
    pub fn text(text: &str) -> Result<Pattern, Error> {
        Pattern::new(text, &regex::escape(text))
    }

    fn new(text: &str, regex: &str) -> Result<Pattern, Error> {
        let regex = Regex::new(regex).map_err(|error| bad(text, error.to_string()))?;
        Ok(Pattern { text: text.to_owned(), regex })
    }

    /// Whether the pattern matches a name. A name equal to the pattern's text matches, even with brackets
    /// (`func[8]`), and so does one that reports show as this text (`a\nb` for a name of two lines).
    pub fn matches(&self, name: &str) -> bool {
        name == self.text
            || self.regex.is_match(name)
            || self.text.contains('\\') && self.text == printable(name)
    }

    /// Whether the pattern matches a function: its name, or, as it is, its label (`copy #17`), which tells it from others of its name.
    pub fn matches_function(&self, name: &str, label: impl FnOnce() -> String) -> bool {
        self.matches(name) || self.text.contains(" #") && self.text == label()
    }

    /// For a pattern that matches no name: one that would, if a name contains the pattern's text.
    pub fn hint<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Option<String> {
        let asked = self.text.trim_matches(['*', '/']);
        let is_plain = !asked.contains(['[', ']', '{', '}', '?', '*', '\\']);
        let would = || if is_plain { format!("*{asked}*") } else { format!("/{}/", regex::escape(asked)) };
        (!asked.is_empty() && names.any(|name| name.contains(asked))).then(would)
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn bad(pattern: &str, message: String) -> Error {
    ErrorKind::BadPattern { pattern: pattern.to_owned(), message }.into()
}

/// Names that match `only` (all names, if it is empty), and neither `skip` nor `planned`.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// At least one of these must match, unless there are none.
    pub only: Vec<Pattern>,
    /// None of these may match.
    pub skip: Vec<Pattern>,
    /// Names and labels, as they are, of functions that a plan leaves out. Those that no function has say nothing.
    pub planned: HashSet<String>,
}

impl Filter {
    /// Whether a function with this demangled name passes.
    pub fn matches(&self, name: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(name)))
            && !self.skip.iter().any(|pattern| pattern.matches(name))
            && !self.planned.contains(name)
    }

    /// The same of a function that may also be chosen by its label: [`Pattern::matches_function`].
    pub fn matches_function(&self, name: &str, label: impl Fn() -> String) -> bool {
        let matches = |pattern: &Pattern| pattern.matches_function(name, &label);
        (self.only.is_empty() || self.only.iter().any(matches))
            && !self.skip.iter().any(matches)
            && !self.is_planned(name, label)
    }

    /// Whether a plan leaves this function out.
    fn is_planned(&self, name: &str, label: impl Fn() -> String) -> bool {
        !self.planned.is_empty() && (self.planned.contains(name) || self.planned.contains(&label()))
    }

    /// Whether all names pass.
    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.skip.is_empty() && self.planned.is_empty()
    }

    /// The first pattern for which `matches` is false.
    pub fn unmatched_by(&self, mut matches: impl FnMut(&Pattern) -> bool) -> Option<&Pattern> {
        self.only.iter().chain(&self.skip).find(|pattern| !matches(pattern))
    }

    /// The first pattern that matches none of the names.
    pub fn unmatched<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Option<&Pattern> {
        self.only.iter().chain(&self.skip).find(|pattern| !names.clone().any(|name| pattern.matches(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::parse(pattern).expect("a pattern").matches(name)
    }

    #[test]
    fn globs_match_whole_names() {
        assert!(matches("life::*", "life::cells::step") && !matches("life::*", "mylife::step"));
        assert!(matches("step", "step") && !matches("step", "life::step"));
        assert!(matches("st?p", "stüp") && matches("{step,play}", "play") && matches("[a-c]*", "cell"));
        assert!(matches("a/*", "a/b/c"), "a slash is nothing special in a name");
        assert!(
            matches("func[8]", "func[8]") && matches("func[8]", "func8") && !matches("func[8]", "func[81]")
        );
    }

    #[test]
    fn names_match_as_they_are_shown() {
        let odd = "say \"a\"\n\x1b[31m\u{202e}b";
        let shown = r#"say "a"\n\u{1b}[31m\u{202e}b"#;
        assert_eq!(printable(odd), shown);
        assert!(matches(shown, odd) && matches(shown, shown) && !matches(shown, "say \"a\"n"));
        assert!(matches("a::operator[](int)", "a::operator[](int)") && Pattern::parse("a[b").is_err());
        assert!(matches(r"a\*b", "a*b") && !matches(r"a\*b", "acb"), "a backslash is still a glob's");
    }

    #[test]
    fn labels_are_matched_as_they_are() {
        let of = |pattern: &str, index: u32| {
            let pattern = Pattern::parse(pattern).expect("a pattern");
            pattern.matches_function("copy", || format!("copy #{index}"))
        };
        assert!(of("copy #17", 17) && !of("copy #17", 1) && of("copy", 17) && of("c*", 1));
        assert!(!of("*7", 17) && !of("/7$/", 17), "a number is no part of the name");
        let filter =
            Filter { skip: vec![Pattern::parse("copy #17").expect("a pattern")], ..Filter::default() };
        assert_eq!(
            [1, 17].map(|index| filter.matches_function("copy", || format!("copy #{index}"))),
            [true, false]
        );
    }

    #[test]
    fn hints_match_what_was_asked_for() {
        let hint = |pattern: &str, name: &str| {
            let pattern = Pattern::parse(pattern).expect("a pattern");
            assert!(!pattern.matches(name));
            let hint = pattern.hint([name].into_iter()).expect("a hint");
            assert!(matches(&hint, name), "{hint}");
            hint
        };
        assert_eq!(hint("step", "life::step"), "*step*");
        assert_eq!(hint("c[8]", "func[8]"), r"/c\[8\]/");
    }

    #[test]
    fn regexes_match_anywhere() {
        assert!(
            matches("/^life::/", "life::step")
                && matches("/st.p/", "mystep()")
                && !matches("/^st/", "mystep")
        );
        assert!(matches("/", "/"), "one slash is a glob");
    }

    #[test]
    fn patterns_may_be_of_one_kind_whatever_they_look_like() {
        let odd = "<[T; 3] as a/b>::*()";
        assert!(Pattern::text("[T; 3]").expect("text").matches(odd));
        assert!(!Pattern::text("[t; 3]").expect("text").matches(odd));
        assert!(Pattern::glob("*/b>::?()").expect("a glob").matches(odd));
        assert!(Pattern::regex("^<.*a/b").expect("a regex").matches(odd));
        assert!(Pattern::glob("/x/").expect("a glob").matches("/x/"));
    }

    #[test]
    fn bad_patterns_say_what_is_wrong() {
        for (pattern, expected) in
            [("a[b", "bad pattern `a[b`: unclosed character class"), ("/(/", "bad pattern `/(/`: ")]
        {
            let error = Pattern::parse(pattern).expect_err("bad").to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn skip_is_stronger_than_only() {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::parse(text).expect("ok")).collect();
        let filter = Filter { only: patterns(&["a*", "b"]), skip: patterns(&["ab"]), ..Filter::default() };
        assert_eq!(["a", "ab", "b", "c"].map(|name| filter.matches(name)), [true, false, true, false]);
    }
}
