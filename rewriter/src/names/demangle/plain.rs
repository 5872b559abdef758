//! Recognizes mangled names of C++ that consist of names and types, without expressions.
//!
//! - Each byte of a plain name decides what it begins, so a parser never tries an alternative in vain.
//! - Time is in proportion to the name.
//!
//! Source: Itanium C++ ABI, section 5.1. It is no whole grammar: an unknown form counts as an expression.

/// How deep names and types nest. Real names reach 30.
const MAX_DEPTH: u32 = 64;

/// Whether a mangled name, without its `_Z`, has only names and types. A suffix (`.cold`) may follow.
pub(super) fn is_plain(mangled: &[u8]) -> bool {
    let mut look = Look { rest: mangled, depth: 0 };
    look.encoding().is_some() && matches!(look.peek(), 0 | b'.')
}

/// A reader of a mangled name. Its methods skip one production each, and fail where there is none.
struct Look<'a> {
    rest: &'a [u8],
    depth: u32,
}

impl Look<'_> {
    fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    fn second(&self) -> u8 {
        self.rest.get(1).copied().unwrap_or(0)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }

    fn take(&mut self, text: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.take(text).then_some(())
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        let length = self.rest.iter().take_while(|&&byte| wanted(byte)).count();
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    /// One level deeper.
    fn within(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// What `read` reads, again and again, up to an `E`.
    fn until_end(&mut self, read: fn(&mut Self) -> Option<()>) -> Option<()> {
        self.within(|look| {
            while !look.take(b"E") {
                read(look)?;
            }
            Some(())
        })
    }

    fn encoding(&mut self) -> Option<()> {
        match (self.peek(), self.second()) {
            (b'T', b'V' | b'T' | b'I' | b'S') => {
                self.skip(2)?;
                self.ty()
            }
            (b'G', b'V') => {
                self.skip(2)?;
                self.name()
            }
            _ => {
                self.name()?;
                while !matches!(self.peek(), 0 | b'E' | b'.') {
                    self.ty()?;
                }
                Some(())
            }
        }
    }

    fn name(&mut self) -> Option<()> {
        match self.peek() {
            b'N' => {
                self.skip(1)?;
                self.skip_while(|byte| b"rVK".contains(&byte));
                self.skip_while(|byte| b"RO".contains(&byte));
                self.until_end(Self::part)
            }
            b'Z' => {
                self.skip(1)?;
                self.within(Self::encoding)?;
                self.expect(b"E")?;
                if !self.take(b"s") {
                    if self.take(b"d") {
                        self.number()?;
                    }
                    self.within(Self::name)?;
                }
                self.discriminator();
                Some(())
            }
            b'S' => {
                self.substitution()?;
                self.arguments_if_any()
            }
            _ => {
                self.unqualified()?;
                self.arguments_if_any()
            }
        }
    }

    /// A part of a nested name.
    fn part(&mut self) -> Option<()> {
        match (self.peek(), self.second()) {
            (b'S', _) => self.substitution(),
            (b'T', _) => self.parameter(),
            (b'I', _) => self.arguments(),
            (b'C', b'1'..=b'5') | (b'D', b'0'..=b'5') => {
                self.skip(2)?;
                self.tags()
            }
            (b'M', _) => self.skip(1),
            _ => self.unqualified(),
        }
    }

    fn unqualified(&mut self) -> Option<()> {
        self.take(b"L");
        match (self.peek(), self.second()) {
            (b'0'..=b'9', _) => self.identifier()?,
            (b'U', b't') => {
                self.skip(2)?;
                self.number()?;
            }
            (b'U', b'l') => {
                self.skip(2)?;
                self.until_end(Self::ty)?;
                self.number()?;
            }
            (b'c', b'v') => {
                self.skip(2)?;
                self.within(Self::ty)?;
            }
            (b'l', b'i') => {
                self.skip(2)?;
                self.identifier()?;
            }
            (b'a'..=b'z', b'a'..=b'z' | b'A'..=b'Z') => self.skip(2)?,
            _ => return None,
        }
        self.tags()
    }

    fn tags(&mut self) -> Option<()> {
        while self.take(b"B") {
            self.identifier()?;
        }
        Some(())
    }

    fn identifier(&mut self) -> Option<()> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length: usize = std::str::from_utf8(self.rest.get(..digits)?).ok()?.parse().ok()?;
        self.skip(digits.checked_add(length)?)
    }

    /// `_`, or a number and `_`.
    fn number(&mut self) -> Option<()> {
        self.skip_while(|byte| byte.is_ascii_digit());
        self.expect(b"_")
    }

    fn discriminator(&mut self) {
        if self.take(b"_") {
            self.take(b"_");
            self.skip_while(|byte| byte.is_ascii_digit() || byte == b'_');
        }
    }

    fn parameter(&mut self) -> Option<()> {
        self.expect(b"T")?;
        self.number()
    }

    fn substitution(&mut self) -> Option<()> {
        self.expect(b"S")?;
        match self.peek() {
            b't' => {
                self.skip(1)?;
                self.unqualified()
            }
            b'a' | b'b' | b'd' | b'i' | b'o' | b's' => {
                self.skip(1)?;
                self.tags()
            }
            _ => {
                self.skip_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
                self.expect(b"_")
            }
        }
    }

    fn arguments_if_any(&mut self) -> Option<()> {
        if self.peek() == b'I' { self.arguments() } else { Some(()) }
    }

    fn arguments(&mut self) -> Option<()> {
        self.skip(1)?;
        self.until_end(Self::argument)
    }

    fn argument(&mut self) -> Option<()> {
        match self.peek() {
            b'J' => {
                self.skip(1)?;
                self.until_end(Self::argument)
            }
            b'L' => {
                self.skip(1)?;
                if self.take(b"_Z") {
                    self.within(Self::encoding)?;
                } else {
                    self.within(Self::ty)?;
                    self.skip_while(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
                }
                self.expect(b"E")
            }
            _ => self.ty(),
        }
    }

    fn ty(&mut self) -> Option<()> {
        match (self.peek(), self.second()) {
            (b'P' | b'R' | b'O' | b'K' | b'V' | b'r' | b'C' | b'G', _) => {
                self.skip(1)?;
                self.within(Self::ty)
            }
            (b'A', _) => {
                self.skip(1)?;
                self.number()?;
                self.within(Self::ty)
            }
            (b'M', _) => {
                self.skip(1)?;
                self.within(Self::ty)?;
                self.within(Self::ty)
            }
            (b'D', b'o') => {
                self.skip(2)?;
                self.within(Self::ty)
            }
            (b'F', _) => {
                self.skip(1)?;
                self.take(b"Y");
                self.within(|look| {
                    while !(look.take(b"E") || look.take(b"RE") || look.take(b"OE")) {
                        look.ty()?;
                    }
                    Some(())
                })
            }
            (b'D', b'p') => {
                self.skip(2)?;
                self.within(Self::ty)
            }
            (b'D', b'v') => {
                self.skip(2)?;
                self.number()?;
                self.within(Self::ty)
            }
            (b'D', letter) if b"acdefhinsu".contains(&letter) => self.skip(2),
            (b'u', _) => {
                self.skip(1)?;
                self.identifier()
            }
            (b'U', _) => {
                self.skip(1)?;
                self.identifier()?;
                self.within(Self::ty)
            }
            (b'a'..=b'z', _) => self.skip(1),
            (b'T', _) => {
                self.parameter()?;
                self.arguments_if_any()
            }
            (b'S', _) | (b'N' | b'Z' | b'0'..=b'9', _) => self.within(Self::name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_expressions_are_not_plain() {
        for plain in [
            "1fv",
            "N4Life4stepEi",
            "NKSt6vectorIiSaIiEE4sizeEv",
            "ZN1a1bEvENKUlRT_E0_clIiEEDaS0_",
            "1fIJiLb1ELin3EEEvDpOT_",
            "TVN4llvm4PassE",
            "1fPFvPA4_KcM1aFvvEE.cold",
        ] {
            assert!(is_plain(plain.as_bytes()), "{plain}");
        }
        for other in [
            "",
            "4fv",
            "1fIiv",
            "1fDTclfp_E",
            "1fIXsrT_5valueEEvv",
            "ZclDTdlLAdlLAfL",
            "1fA_",
            "99999999999999999999a",
            "SsISsISsI",
        ] {
            assert!(!is_plain(other.as_bytes()), "{other}");
        }
        let deep = |levels: usize| format!("1f{}i", "P".repeat(levels));
        assert!(is_plain(deep(60).as_bytes()) && !is_plain(deep(70).as_bytes()));
    }
}
