//! Names of D: `_D4life4stepFiZv` is `life.step(int)`. No crate reads these by itself.
//!
//! A name is read from left to right and may point back to what came before, so a short one can stand for one that is larger by
//! any power, or for itself. Steps, depth and output are limited.
//!
//! Source: <https://dlang.org/spec/abi.html#name_mangling>, and what `core.demangle` prints. Left out are the types of variables,
//! attributes, and what functions return.

/// Back references go deeper than people write.
const MAX_DEPTH: u32 = 64;
/// For each byte of the name, and for all. Names of D's own libraries take up to 9 steps a byte, and get 6 times as long.
const STEPS: (usize, usize) = (512, 32);
const OUTPUT: (usize, usize) = (256, 16);

/// The name, if it is one of D.
pub(super) fn demangle(mangled: &str) -> Option<String> {
    if mangled == "_Dmain" {
        return Some("D main".to_owned());
    }
    if !mangled.starts_with("_D") || !mangled.is_ascii() {
        return None;
    }
    let of = |(base, each): (usize, usize)| base + each * mangled.len();
    let name = mangled.as_bytes();
    let mut parser = Parser { name, at: 2, out: String::new(), room: of(OUTPUT), steps: of(STEPS), depth: 0 };
    parser.qualified()?;
    // Internal symbols have no type.
    if parser.rest() == b"Z" {
        return Some(parser.out);
    }
    // A method whose type is one that came before.
    parser.take("M");
    parser.silent(Parser::kind)?;
    parser.rest().is_empty().then_some(parser.out)
}

struct Parser<'a> {
    name: &'a [u8],
    at: usize,
    out: String,
    /// How long the output may be.
    room: usize,
    steps: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a [u8] {
        self.name.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> u8 {
        self.rest().first().copied().unwrap_or(0)
    }

    fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text.as_bytes());
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn next(&mut self) -> Option<u8> {
        self.steps = self.steps.checked_sub(1)?;
        let byte = *self.name.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn say(&mut self, text: &str) -> Option<()> {
        self.out.push_str(text);
        (self.out.len() <= self.room).then_some(())
    }

    /// Goes on with something that lies within what is read.
    fn within(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH { None } else { read(self) };
        self.depth -= 1;
        result
    }

    /// Reads something and says nothing of it.
    fn silent(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let length = self.out.len();
        let result = read(self);
        self.out.truncate(length);
        result
    }

    /// The same of something whose words are needed elsewhere.
    fn aside(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<String> {
        let length = self.out.len();
        read(self)?;
        Some(self.out.split_off(length))
    }

    fn number(&mut self) -> Option<usize> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(self.rest().get(..digits)?).ok()?;
        self.at += digits;
        text.parse().ok()
    }

    /// Where a back reference at this place leads, and how long it is.
    fn target(&self) -> Option<(usize, usize)> {
        let mut back = 0usize;
        for (n, &byte) in self.rest().get(1..)?.iter().enumerate() {
            let (digit, last) = match byte {
                b'A'..=b'Z' => (byte - b'A', false),
                b'a'..=b'z' => (byte - b'a', true),
                _ => return None,
            };
            back = back.checked_mul(26)?.checked_add(digit.into())?;
            if last {
                return Some((self.at.checked_sub(back).filter(|_| back > 0)?, n + 2));
            }
        }
        None
    }

    /// Reads what a back reference leads to.
    fn there(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let (to, length) = self.target()?;
        let behind = self.at + length;
        self.at = to;
        self.within(read)?;
        self.at = behind;
        Some(())
    }

    fn is_symbol(&self) -> bool {
        match self.peek() {
            b'0'..=b'9' => true,
            b'_' => self.is_template(),
            b'Q' => self.target().is_some_and(|(to, _)| self.name.get(to).is_some_and(u8::is_ascii_digit)),
            _ => false,
        }
    }

    fn is_template(&self) -> bool {
        self.rest().starts_with(b"__T") || self.rest().starts_with(b"__U")
    }

    /// `life.step(int)`
    fn qualified(&mut self) -> Option<()> {
        self.symbol()?;
        loop {
            self.parameters_of_symbol()?;
            if !self.is_symbol() {
                return Some(());
            }
            self.say(".")?;
            self.symbol()?;
        }
    }

    /// If the symbol is a function. What is no list of parameters is the symbol's type.
    fn parameters_of_symbol(&mut self) -> Option<()> {
        let (at, length) = (self.at, self.out.len());
        if self.take("M") {
            while self.take("x") || self.take("y") || self.take("O") || self.take("Ng") {}
        }
        let is_function = matches!(self.peek(), b'F' | b'U' | b'W' | b'V' | b'R' | b'Y');
        if is_function && self.within(Parser::parameters).is_some() {
            return Some(());
        }
        (self.at, self.steps) = (at, self.steps.checked_sub(1)?);
        self.out.truncate(length);
        Some(())
    }

    fn symbol(&mut self) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        match self.peek() {
            b'Q' => self.there(Parser::symbol),
            b'_' if self.is_template() => self.within(Parser::template),
            _ => {
                let length = self.number()?;
                let end = self.at.checked_add(length)?;
                let text = self.name.get(self.at..end)?;
                if length > 3 && self.is_template() {
                    self.within(Parser::template)?;
                    return (self.at == end).then_some(());
                }
                self.at = end;
                match text {
                    b"" => self.say("__anonymous"),
                    b"__ctor" => self.say("this"),
                    b"__dtor" => self.say("~this"),
                    b"__postblit" => self.say("this(this)"),
                    text => self.say(std::str::from_utf8(text).ok()?),
                }
            }
        }
    }

    /// `map!(int, 3)`
    fn template(&mut self) -> Option<()> {
        self.at += 3;
        self.symbol()?;
        self.say("!(")?;
        let mut first = true;
        while !self.take("Z") {
            if !std::mem::take(&mut first) {
                self.say(", ")?;
            }
            self.take("H");
            match self.next()? {
                b'T' => self.within(Parser::kind)?,
                b'V' => {
                    let kind = self.peek();
                    self.silent(|parser| parser.within(Parser::kind))?;
                    self.within(|parser| parser.value(kind))?;
                }
                b'S' if self.is_symbol() => self.symbol_argument()?,
                b'S' => self.silent_type_of_mangled()?,
                b'X' => {
                    let length = self.number()?;
                    let text = self.name.get(self.at..self.at.checked_add(length)?)?;
                    self.at += length;
                    self.say(std::str::from_utf8(text).ok()?)?;
                }
                _ => return None,
            }
        }
        self.say(")")
    }

    /// A symbol as an argument: its qualified name, or in older versions the length of a mangled name, and that.
    fn symbol_argument(&mut self) -> Option<()> {
        let (at, length) = (self.at, self.out.len());
        if let Some(size) = self.number().filter(|_| self.rest().starts_with(b"_D")) {
            let end = self.at.checked_add(size)?;
            if self.silent_type_of_mangled().is_some() && self.at == end {
                return Some(());
            }
            self.out.truncate(length);
        }
        self.at = at;
        self.within(Parser::qualified)
    }

    /// A mangled name within another: what it is called.
    fn silent_type_of_mangled(&mut self) -> Option<()> {
        if !self.take("_D") {
            return None;
        }
        self.within(Parser::qualified)?;
        if self.take("Z") { Some(()) } else { self.silent(|parser| parser.within(Parser::kind)) }
    }

    fn value(&mut self, kind: u8) -> Option<()> {
        match self.peek() {
            b'n' => {
                self.at += 1;
                self.say("null")
            }
            b'i' | b'N' | b'0'..=b'9' => {
                let sign = if self.take("N") { "-" } else { "" };
                self.take("i");
                let number = self.number()?;
                let character = || char::from_u32(u32::try_from(number).ok()?);
                match (kind, number) {
                    (b'b', 0) => self.say("false"),
                    (b'b', 1) => self.say("true"),
                    (b'a' | b'u' | b'w', _) => self.say(&format!("{:?}", character()?)),
                    (b'h' | b't' | b'k', _) => self.say(&format!("{sign}{number}u")),
                    (b'l', _) => self.say(&format!("{sign}{number}L")),
                    (b'm', _) => self.say(&format!("{sign}{number}uL")),
                    _ => self.say(&format!("{sign}{number}")),
                }
            }
            b'e' | b'c' => {
                self.at += 1;
                let is_float = |byte: &&u8| byte.is_ascii_hexdigit() || b"NPIcn".contains(byte);
                let length = self.rest().iter().take_while(is_float).count();
                self.at += length;
                self.say("..")
            }
            b'a' | b'w' | b'd' => {
                self.at += 1;
                let length = self.number()?.checked_mul(2)?;
                if !self.take("_") {
                    return None;
                }
                let digits = self.name.get(self.at..self.at.checked_add(length)?)?;
                self.at += length;
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
                self.say(&format!("{:?}", String::from_utf8_lossy(&bytes?)))
            }
            open @ (b'A' | b'S') => {
                self.at += 1;
                self.say(if open == b'A' { "[" } else { "{" })?;
                for n in 0..self.number()? {
                    self.say(if n > 0 { ", " } else { "" })?;
                    self.within(|parser| parser.value(0))?;
                }
                self.say(if open == b'A' { "]" } else { "}" })
            }
            b'f' => {
                self.at += 1;
                self.silent_type_of_mangled()
            }
            _ => None,
        }
    }

    /// A type.
    fn kind(&mut self) -> Option<()> {
        let around = |parser: &mut Self, word: &str| {
            parser.say(word)?;
            parser.within(Parser::kind)?;
            parser.say(")")
        };
        let behind = |parser: &mut Self, text: &str| {
            parser.within(Parser::kind)?;
            parser.say(text)
        };
        match self.peek() {
            b'Q' => return self.there(Parser::kind),
            b'F' | b'U' | b'W' | b'V' | b'R' | b'Y' => return self.function("function"),
            _ => {}
        }
        let word = match self.next()? {
            b'x' => return around(self, "const("),
            b'y' => return around(self, "immutable("),
            b'O' => return around(self, "shared("),
            b'N' => match self.next()? {
                b'g' => return around(self, "inout("),
                b'h' => return around(self, "__vector("),
                b'n' => "noreturn",
                _ => return None,
            },
            b'A' => return behind(self, "[]"),
            b'G' => {
                let length = self.number()?;
                return behind(self, &format!("[{length}]"));
            }
            b'H' => {
                let key = self.aside(|parser| parser.within(Parser::kind))?;
                return behind(self, &format!("[{key}]"));
            }
            b'P' => return behind(self, "*"),
            b'D' => {
                while self.take("x") || self.take("y") || self.take("O") || self.take("Ng") {}
                return match self.peek() {
                    b'Q' => self.there(|parser| parser.function("delegate")),
                    _ => self.function("delegate"),
                };
            }
            b'C' | b'S' | b'E' | b'T' | b'I' => return self.within(Parser::qualified),
            b'B' => {
                self.say("tuple(")?;
                for n in 0..self.number()? {
                    self.say(if n > 0 { ", " } else { "" })?;
                    self.within(Parser::kind)?;
                }
                return self.say(")");
            }
            b'z' => match self.next()? {
                b'i' => "cent",
                b'k' => "ucent",
                _ => return None,
            },
            letter => basic(letter)?,
        };
        self.say(word)
    }

    /// `int function(char)`
    fn function(&mut self, word: &str) -> Option<()> {
        let parameters = self.aside(|parser| parser.within(Parser::parameters))?;
        self.within(Parser::kind)?;
        self.say(&format!(" {word}{parameters}"))
    }

    /// The parameters of a function: its convention, attributes, types.
    fn parameters(&mut self) -> Option<()> {
        let convention = self.next()?;
        if !matches!(convention, b'F' | b'U' | b'W' | b'V' | b'R' | b'Y') {
            return None;
        }
        while matches!(self.rest(), [b'N', b'a'..=b'f' | b'i' | b'j' | b'l' | b'm', ..]) {
            self.at += 2;
        }
        self.say("(")?;
        let mut first = true;
        loop {
            match self.peek() {
                b'Z' => break,
                b'X' => {
                    self.say("...")?;
                    break;
                }
                b'Y' => {
                    self.say(if first { "..." } else { ", ..." })?;
                    break;
                }
                _ => {}
            }
            if !std::mem::take(&mut first) {
                self.say(", ")?;
            }
            loop {
                let word = match self.rest() {
                    [b'M', ..] => "scope ",
                    [b'N', b'k', ..] => "return ",
                    [b'I', ..] => "in ",
                    [b'J', ..] => "out ",
                    [b'K', ..] => "ref ",
                    [b'L', ..] => "lazy ",
                    _ => break,
                };
                // `I` may be a type: an identifier.
                if word == "in " && self.name.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
                    break;
                }
                self.at += if word == "return " { 2 } else { 1 };
                self.say(word)?;
            }
            self.within(Parser::kind)?;
        }
        self.at += 1;
        self.say(")")
    }
}

fn basic(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'v' => "void",
        b'g' => "byte",
        b'h' => "ubyte",
        b's' => "short",
        b't' => "ushort",
        b'i' => "int",
        b'k' => "uint",
        b'l' => "long",
        b'm' => "ulong",
        b'f' => "float",
        b'd' => "double",
        b'e' => "real",
        b'o' => "ifloat",
        b'p' => "idouble",
        b'j' => "ireal",
        b'q' => "cfloat",
        b'r' => "cdouble",
        b'c' => "creal",
        b'b' => "bool",
        b'a' => "char",
        b'u' => "wchar",
        b'w' => "dchar",
        b'n' => "typeof(null)",
        _ => return None,
    })
}
