//! Translates globs into regular expressions.

use std::{iter::Peekable, str::Chars};

/// The regular expression of the names that a glob matches as a whole. Fails with the reason.
///
/// `?` is any character, `*` any text, `[a-c]` and `[!a-c]` are classes of characters, `{a,b}` is one of several
/// texts. After a backslash every character is itself.
///
/// ```text
/// life::{step,draw}*
/// (?s)^life::(?:step|draw).*$
/// ```
pub(crate) fn regex_of(glob: &str) -> Result<String, String> {
    let mut regex = String::from("(?s)^");
    let mut open = 0;
    let mut rest = glob.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '?' => regex.push('.'),
            '*' => regex.push_str(".*"),
            '[' => class(&mut rest, &mut regex)?,
            '{' => {
                open += 1;
                regex.push_str("(?:");
            }
            '}' if open == 0 => {
                return Err("unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)".to_owned());
            }
            '}' => {
                open -= 1;
                regex.push(')');
            }
            ',' if open > 0 => regex.push('|'),
            '\\' => literal(rest.next().ok_or("dangling '\\'")?, &mut regex),
            letter => literal(letter, &mut regex),
        }
    }
    if open > 0 {
        return Err("unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)".to_owned());
    }
    regex.push('$');
    Ok(regex)
}

fn literal(letter: char, regex: &mut String) {
    regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4])));
}

/// The rest of a class. A `]` that is the first of its characters doesn't end it, a `-` at either end is itself.
fn class(rest: &mut Peekable<Chars>, regex: &mut String) -> Result<(), String> {
    regex.push('[');
    if rest.next_if(|&letter| letter == '!' || letter == '^').is_some() {
        regex.push('^');
    }
    let mut is_first = true;
    loop {
        let letter = rest.next().ok_or("unclosed character class; missing ']'")?;
        if letter == ']' && !is_first {
            regex.push(']');
            return Ok(());
        }
        is_first = false;
        literal(letter, regex);
        let mut ahead = rest.clone();
        if ahead.next() == Some('-')
            && let Some(last) = ahead.next().filter(|&last| last != ']')
        {
            if last < letter {
                return Err(format!("invalid range; '{letter}' > '{last}'"));
            }
            *rest = ahead;
            regex.push('-');
            literal(last, regex);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_become_regexes() {
        for (glob, expected) in [
            ("life::{step,draw}*", "life::(?:step|draw).*"),
            ("a.b?,ü", r"a\.b.,ü"),
            ("[!a-c^]x", r"[^a-c\^]x"),
            ("[]a-]", r"[\]a\-]"),
            ("[-a]", r"[\-a]"),
            (r"\*\{[[]", r"\*\{[\[]"),
            ("{a,{b,c}}", "(?:a|(?:b|c))"),
        ] {
            assert_eq!(regex_of(glob), Ok(format!("(?s)^{expected}$")), "{glob}");
        }
    }

    #[test]
    fn bad_globs_say_what_is_wrong() {
        for (glob, why) in [
            ("a[b", "unclosed character class"),
            ("[]", "unclosed character class"),
            ("[z-a]", "invalid range; 'z' > 'a'"),
            ("{a", "unclosed alternate group"),
            ("a}", "unopened alternate group"),
            ("a\\", "dangling '\\'"),
        ] {
            let error = regex_of(glob).expect_err("bad");
            assert!(error.starts_with(why), "{glob}: {error}");
        }
    }
}
