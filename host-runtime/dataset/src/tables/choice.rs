//! The language of conditions that choose runs of a dataset.
//!
//! ```text
//! either   = both ("or" both)*
//! both     = one ("and" one)*
//! one      = "(" either ")" | column operator value
//! operator = "=" | "!=" | "<>" | "<" | "<=" | ">" | ">="
//! value    = 'text', with '' for a quote in it | number | true | false
//! ```

use crate::tables::cell::Value;
use crate::tables::rows::RunRow;
use crate::tables::table::TableRow;
use crate::tables::times::{is_date, start_text, whole_time};
use std::fmt;

/// Which runs are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice(Option<Node>);

/// Why a text says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceError {
    /// Where in the text, in characters.
    pub offset: usize,
    /// The error there.
    pub what: String,
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at character {})", self.what, self.offset + 1)
    }
}

impl std::error::Error for ChoiceError {}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Either(Vec<Node>),
    Both(Vec<Node>),
    Compare(&'static str, Operator, Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Columns that are the names of folders.
const FOLDERS: [&str; 2] = ["service", "day"];

/// The columns that can be asked for.
fn columns() -> impl Iterator<Item = &'static str> {
    FOLDERS.into_iter().chain(RunRow::COLUMNS.iter().copied())
}

impl Choice {
    /// Reads a condition.
    ///
    /// # Errors
    ///
    /// The error, and where it is.
    pub fn parse(text: &str) -> Result<Choice, ChoiceError> {
        // Until here a place is one in bytes.
        Choice::parse_bytes(text).map_err(|ChoiceError { offset, what }| {
            let before = text.get(..offset).unwrap_or(text);
            ChoiceError { offset: before.chars().count(), what }
        })
    }

    fn parse_bytes(text: &str) -> Result<Choice, ChoiceError> {
        let mut parser = Parser { text, tokens: tokens(text)?, at: 0, open: 0 };
        let node = parser.either()?;
        match parser.peek() {
            Some(_) => Err(parser.wrong("`and` or `or`")),
            None => Ok(Choice(Some(node))),
        }
    }

    /// Whether a run is wanted. `service` and `day` are the names of the folders that it is in.
    pub fn has(&self, run: &RunRow, service: &str, day: &str) -> bool {
        self.0.as_ref().is_none_or(|node| node.has(&|column| value(run, service, day, column)))
    }
}

impl Node {
    fn has(&self, value: &dyn Fn(&str) -> Value) -> bool {
        match self {
            Node::Either(nodes) => nodes.iter().any(|node| node.has(value)),
            Node::Both(nodes) => nodes.iter().all(|node| node.has(value)),
            Node::Compare(column, operator, wanted) => {
                // A missing value is neither equal nor unequal, as in SQL.
                let value = Some(value(column)).filter(|value| *value != Value::Missing);
                value.and_then(|value| value.partial_cmp(wanted)).is_some_and(|order| match operator {
                    Operator::Equal => order.is_eq(),
                    Operator::Unequal => order.is_ne(),
                    Operator::Less => order.is_lt(),
                    Operator::LessOrEqual => order.is_le(),
                    Operator::Greater => order.is_gt(),
                    Operator::GreaterOrEqual => order.is_ge(),
                })
            }
        }
    }
}

fn value(run: &RunRow, service: &str, day: &str, column: &str) -> Value {
    let text = |text: &str| Value::Text(text.to_owned());
    match column {
        "service" => text(service),
        "day" => text(day),
        // A number of 64 bits has more digits than an `f64`.
        "run_id" => Value::Text(run.run_id.to_string()),
        "start" => Value::Text(start_text(run.start)),
        _ => run.value(column),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Open,
    Close,
    Operator(Operator),
    Word(String),
    Text(String),
    Number(f64),
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ChoiceError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let offset = text.len() - rest.len();
        let wrong = |what: &str| ChoiceError { offset, what: what.to_owned() };
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let (length, token) = match first {
            '(' => (1, Token::Open),
            ')' => (1, Token::Close),
            '=' | '!' | '<' | '>' => {
                let known = [
                    ("!=", Operator::Unequal),
                    ("<>", Operator::Unequal),
                    ("<=", Operator::LessOrEqual),
                    (">=", Operator::GreaterOrEqual),
                    ("==", Operator::Equal),
                    ("=", Operator::Equal),
                    ("<", Operator::Less),
                    (">", Operator::Greater),
                ];
                let found = known.into_iter().find(|(name, _)| rest.starts_with(name));
                let (name, operator) = found.ok_or_else(|| wrong("`!` is not an operator; write `!=`"))?;
                (name.len(), Token::Operator(operator))
            }
            '\'' => {
                let mut value = String::new();
                let mut chars = rest.char_indices().skip(1).peekable();
                loop {
                    match chars.next() {
                        None => return Err(wrong("a text has no end; it ends with a `'`")),
                        Some((_, '\'')) if chars.peek().is_some_and(|(_, c)| *c == '\'') => {
                            chars.next();
                            value.push('\'');
                        }
                        Some((at, '\'')) => break (at + 1, Token::Text(value)),
                        Some((_, c)) => value.push(c),
                    }
                }
            }
            '"' => return Err(wrong("write text in single quotes: 'b'")),
            c if c.is_ascii_digit() || c == '-' || c == '.' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
                let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let digits = rest.get(..length).unwrap_or_default().replace('_', "");
                let number: f64 =
                    digits.parse().map_err(|_| wrong(&format!("`{digits}` is not a number")))?;
                (length, Token::Number(number))
            }
            c if c.is_ascii_alphabetic() => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                (length, Token::Word(rest.get(..length).unwrap_or_default().to_owned()))
            }
            c => return Err(wrong(&format!("`{}` has no meaning here", c.escape_default()))),
        };
        tokens.push((offset, token));
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// How many parentheses may be open.
const MAX_OPEN: usize = 100;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    at: usize,
    open: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn wrong(&self, wanted: &str) -> ChoiceError {
        let offset = self.tokens.get(self.at).map_or(self.text.len(), |(offset, _)| *offset);
        ChoiceError { offset, what: format!("{wanted} is missing") }
    }

    /// Whether the next token is this word; then it is taken.
    fn word(&mut self, wanted: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(wanted));
        self.at += usize::from(is_it);
        is_it
    }

    fn either(&mut self) -> Result<Node, ChoiceError> {
        let mut nodes = vec![self.both()?];
        while self.word("or") {
            nodes.push(self.both()?);
        }
        Ok(Node::Either(nodes))
    }

    fn both(&mut self) -> Result<Node, ChoiceError> {
        let mut nodes = vec![self.one()?];
        while self.word("and") {
            nodes.push(self.one()?);
        }
        Ok(Node::Both(nodes))
    }

    fn one(&mut self) -> Result<Node, ChoiceError> {
        let missing = self.wrong("a column");
        match self.next() {
            Some(Token::Open) => {
                self.open += 1;
                if self.open > MAX_OPEN {
                    return Err(ChoiceError { what: "too many parentheses".to_owned(), ..missing });
                }
                let node = self.either()?;
                let unclosed = self.wrong("`)`");
                self.open -= 1;
                if self.next() == Some(Token::Close) { Ok(node) } else { Err(unclosed) }
            }
            Some(Token::Word(word)) => self.compare(&word, missing.offset),
            _ => Err(missing),
        }
    }

    fn compare(&mut self, word: &str, offset: usize) -> Result<Node, ChoiceError> {
        let column = columns().find(|column| column.eq_ignore_ascii_case(word)).ok_or_else(|| {
            let known: Vec<&str> = columns().collect();
            let what = format!("there is no column `{word}`; there are {}", known.join(", "));
            ChoiceError { offset, what }
        })?;
        let missing = self.wrong("an operator, such as `=`,");
        let Some(Token::Operator(operator)) = self.next() else { return Err(missing) };
        let missing = self.wrong("a value, such as 'b' or 10,");
        let value = match self.next() {
            Some(Token::Text(text)) => Value::Text(text),
            Some(Token::Number(number)) => Value::Number(number),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("true") => Value::Flag(true),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("false") => Value::Flag(false),
            _ => return Err(missing),
        };
        let is_of = value_kind(column);
        let fits = match &value {
            Value::Text(_) => is_of == "a text",
            Value::Number(_) => is_of == "a number",
            Value::Flag(_) | Value::Missing => is_of == "true or false",
        };
        if !fits {
            let what = format!("`{column}` is compared with {is_of}");
            return Err(ChoiceError { offset: missing.offset, what });
        }
        let value = match value {
            Value::Text(text) if column == "start" => Value::Text(whole_time(&text).ok_or_else(|| {
                let what =
                    "`start` is compared with a time in UTC, such as '2026-11-24' or '2026-11-24 21:00:00'";
                ChoiceError { offset: missing.offset, what: what.to_owned() }
            })?),
            Value::Text(text) if column == "day" && !is_date(&text) => {
                let what = "`day` is compared with a day in UTC, such as '2026-11-24'".to_owned();
                return Err(ChoiceError { offset: missing.offset, what });
            }
            value => value,
        };
        Ok(Node::Compare(column, operator, value))
    }
}

fn value_kind(column: &str) -> &'static str {
    let run = RunRow {
        cpu_nanos: Some(0),
        effective_samples: Some(0.0),
        probe_nanos: Some(0.0),
        ..RunRow::default()
    };
    match value(&run, "", "", column) {
        Value::Text(_) => "a text",
        Value::Number(_) => "a number",
        Value::Flag(_) | Value::Missing => "true or false",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str) -> bool {
        let run = RunRow {
            version: "b".into(),
            host: "o'neil".into(),
            calls: 10,
            complete: true,
            start: 1_795_554_000_000_000,
            ..RunRow::default()
        };
        Choice::parse(text).expect(text).has(&run, "life", "2026-11-24")
    }

    #[test]
    fn conditions_mean_what_sql_means() {
        for text in [
            "version = 'b'",
            "VERSION <> 'a' AND service='life'",
            "version = 'a' or version = 'b' and calls >= 10",
            "(version = 'a' or version = 'b') and calls < 1e3",
            "host = 'o''neil'",
            "complete = true",
            "day > '2026-11-23' and start < '2026-11-25' and start >= '2026-11-24T'",
            "calls != -1",
            "start >= '2026-11-24 21:00:00' and start < '2026-11-24 21:00:01'",
            "start = '2026-11-24 21:00' and start <= '2026-11-24 21:00:00.000'",
            "start > '2026-11-24 20:59' and start < '2026-11-24 22:00'",
        ] {
            assert!(has(text), "{text}");
        }
        for text in [
            "version = 'B'",
            "version = 'b' and calls > 10",
            "(version = 'a' or version = 'b') and calls < 10",
            "cpu_nanos = 0 or cpu_nanos != 0",
            "complete = false",
            "start < '2026-11-24 20:59' or start > '2026-11-24 21:00' or start = '2026-11-24'",
        ] {
            assert!(!has(text), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, told) in [
            ("", "a column is missing (at character 1)"),
            ("version", "an operator, such as `=`, is missing (at character 8)"),
            ("version = ", "a value, such as 'b' or 10, is missing (at character 11)"),
            ("version = b", "a value, such as 'b' or 10, is missing (at character 11)"),
            ("version = \"b\"", "write text in single quotes: 'b' (at character 11)"),
            ("version = 'b", "a text has no end; it ends with a `'` (at character 11)"),
            ("version = 3", "`version` is compared with a text (at character 11)"),
            ("calls = 'x'", "`calls` is compared with a number (at character 9)"),
            ("version = 'b' version = 'c'", "`and` or `or` is missing (at character 15)"),
            ("(version = 'b'", "`)` is missing (at character 15)"),
            ("calls = 1x", "`1x` is not a number (at character 9)"),
            ("calls ! 1", "`!` is not an operator; write `!=` (at character 7)"),
            (
                "start > 'Tuesday'",
                "`start` is compared with a time in UTC, such as '2026-11-24' or '2026-11-24 21:00:00' (at character 9)",
            ),
            (
                "day = '2026-11-4'",
                "`day` is compared with a day in UTC, such as '2026-11-24' (at character 7)",
            ),
            ("version = 'é' x", "`and` or `or` is missing (at character 15)"),
            ("; drop", "`;` has no meaning here (at character 1)"),
        ] {
            assert_eq!(Choice::parse(text).expect_err(text).to_string(), told);
        }
        assert!(
            Choice::parse("colour = 'b'").expect_err("no").what.starts_with("there is no column `colour`")
        );
        assert!(Choice::parse(&"(".repeat(100_000)).is_err());
    }
}
