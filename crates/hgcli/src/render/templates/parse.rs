//! From the text of a template to a tree.
//!
//! ```text
//! text {keyword} {expression|filter} {list % "{item}"} {function(argument, ...)} {number + number}
//! ```

use crate::ui::Abort;
use std::collections::BTreeSet;

/// Deepest nesting of expressions and strings.
const DEEPEST: usize = 60;

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    /// Itself.
    Text(Vec<u8>),
    /// One after the other.
    Template(Vec<Expr>),
    /// A keyword.
    Symbol(String),
    /// A number.
    Number(i64),
    /// `value|filter`.
    Filter(Box<Expr>, String),
    /// `list % template`.
    Map(Box<Expr>, Box<Expr>),
    /// `function(…)`.
    Call(String, Vec<Expr>),
    /// `name=value` among the arguments of a function.
    Named(String, Box<Expr>),
    /// `value.name`.
    Member(Box<Expr>, String),
    /// `a + b` and the like.
    Arithmetic(u8, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Adds the names of all keywords in it. Trees are as deep as [`DEEPEST`] allows.
    pub(super) fn push_names<'e>(&'e self, names: &mut BTreeSet<&'e str>) {
        match self {
            Expr::Text(_) | Expr::Number(_) => {}
            Expr::Symbol(name) => {
                names.insert(name);
            }
            Expr::Template(parts) | Expr::Call(_, parts) => {
                parts.iter().for_each(|part| part.push_names(names));
            }
            Expr::Filter(operand, _) | Expr::Named(_, operand) | Expr::Member(operand, _) => {
                operand.push_names(names);
            }
            Expr::Map(left, right) | Expr::Arithmetic(_, left, right) => {
                left.push_names(names);
                right.push_names(names);
            }
        }
    }
}

/// Reads a template.
pub(super) fn parse(text: &[u8]) -> Result<Expr, Abort> {
    let mut parser = Parser {
        text,
        at: 0,
        brace: 0,
    };
    parser.template(None, 0)
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    /// Behind the brace that began the innermost expression.
    brace: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, at: usize, message: impl Into<String>) -> Result<T, Abort> {
        let text = String::from_utf8_lossy(self.text);
        let shown = text.replace('\n', "\\n");
        let hint = format!("{shown}\n{}^ here", " ".repeat(at + 1));
        Err(Abort::Parse {
            message: message.into(),
            at: Some(at),
            hint: Some(hint),
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Text with expressions, up to the quotation mark `end` or the end of all.
    fn template(&mut self, end: Option<u8>, depth: usize) -> Result<Expr, Abort> {
        let (start, mut parts, mut plain) = (self.at, Vec::new(), Vec::new());
        if depth > DEEPEST {
            return self.fail(start, "template is nested too deeply");
        }
        loop {
            match self.peek() {
                None if end.is_some() => return self.fail(start, "unterminated string"),
                None => break,
                mark if mark == end => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(&mut plain);
                }
                Some(b'{') => {
                    if !plain.is_empty() {
                        parts.push(Expr::Text(std::mem::take(&mut plain)));
                    }
                    self.at += 1;
                    parts.push(self.braced(depth)?);
                }
                Some(byte) => {
                    plain.push(byte);
                    self.at += 1;
                }
            }
        }
        if !plain.is_empty() {
            parts.push(Expr::Text(plain));
        }
        Ok(Expr::Template(parts))
    }

    fn escape(&mut self, out: &mut Vec<u8>) {
        let byte = self.peek();
        self.at += usize::from(byte.is_some());
        match byte {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'0') => out.push(0),
            Some(quoted @ (b'\\' | b'{' | b'}' | b'"' | b'\'')) => out.push(quoted),
            Some(b'x') if self.hex().is_some() => {
                out.extend(self.hex());
                self.at += 2;
            }
            Some(other) => out.extend_from_slice(&[b'\\', other]),
            None => out.push(b'\\'),
        }
    }

    /// The byte that the next two digits say.
    fn hex(&self) -> Option<u8> {
        let digits = self.text.get(self.at..self.at + 2)?;
        u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    fn braced(&mut self, depth: usize) -> Result<Expr, Abort> {
        let start = self.at;
        let around = std::mem::replace(&mut self.brace, start);
        let inner = self.sum(depth + 1)?;
        self.brace = around;
        self.blanks();
        match self.peek() {
            Some(b'=') => Err(super::eval::parse_error(
                "can't use a key-value pair in this context",
            )),
            Some(b'}') => {
                self.at += 1;
                Ok(inner)
            }
            None => self.fail(start, "unterminated template expansion"),
            Some(b',') if self.text.get(self.at + 1) == Some(&b'}') => {
                self.fail(self.at + 1, "not a prefix: end")
            }
            Some(_) => self.fail(self.at, "invalid token"),
        }
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn sum(&mut self, depth: usize) -> Result<Expr, Abort> {
        let mut left = self.product(depth)?;
        loop {
            self.blanks();
            let Some(operator @ (b'+' | b'-')) = self.peek() else {
                return Ok(left);
            };
            self.at += 1;
            let right = self.product(depth)?;
            left = Expr::Arithmetic(operator, Box::new(left), Box::new(right));
        }
    }

    fn product(&mut self, depth: usize) -> Result<Expr, Abort> {
        let mut left = self.mapped(depth)?;
        loop {
            self.blanks();
            let Some(operator @ (b'*' | b'/')) = self.peek() else {
                return Ok(left);
            };
            self.at += 1;
            let right = self.mapped(depth)?;
            left = Expr::Arithmetic(operator, Box::new(left), Box::new(right));
        }
    }

    fn mapped(&mut self, depth: usize) -> Result<Expr, Abort> {
        let mut left = self.operand(depth)?;
        let mut steps = 0;
        loop {
            self.blanks();
            steps += 1;
            if steps > DEEPEST {
                return self.fail(self.at, "template is nested too deeply");
            }
            match self.peek() {
                Some(b'|') => {
                    self.at += 1;
                    let name = self.symbol()?;
                    left = Expr::Filter(Box::new(left), name);
                }
                Some(b'.') => {
                    self.at += 1;
                    let name = self.symbol()?;
                    left = Expr::Member(Box::new(left), name);
                }
                Some(b'%') => {
                    self.at += 1;
                    let template = self.operand(depth)?;
                    left = Expr::Map(Box::new(left), Box::new(template));
                }
                _ => return Ok(left),
            }
        }
    }

    /// The name behind `|` or `.`.
    fn symbol(&mut self) -> Result<String, Abort> {
        self.blanks();
        let at = self.at;
        let name = self.name();
        match (name.is_empty(), self.peek()) {
            (_, None) => self.fail(self.brace, "unterminated template expansion"),
            (false, _) => Ok(name),
            (true, Some(b'}' | b')' | b',')) => self.fail(at, "not a prefix: end"),
            (true, _) => self.fail(at, "expected a symbol"),
        }
    }

    fn name(&mut self) -> String {
        let rest = &self.text[self.at..];
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = rest.iter().position(|byte| !part(byte));
        let name = &rest[..end.unwrap_or(rest.len())];
        self.at += name.len();
        String::from_utf8_lossy(name).into_owned()
    }

    fn operand(&mut self, depth: usize) -> Result<Expr, Abort> {
        self.blanks();
        let at = self.at;
        if depth > DEEPEST {
            return self.fail(at, "template is nested too deeply");
        }
        match self.peek() {
            Some(mark @ (b'"' | b'\'')) => {
                self.at += 1;
                self.template(Some(mark), depth + 1)
            }
            Some(b'(') => {
                self.at += 1;
                let inner = self.sum(depth + 1)?;
                self.expect(b')')?;
                Ok(inner)
            }
            Some(b'-') => {
                self.at += 1;
                let inner = self.operand(depth + 1)?;
                let zero = Box::new(Expr::Number(0));
                Ok(Expr::Arithmetic(b'-', zero, Box::new(inner)))
            }
            Some(b'r') if matches!(self.text.get(at + 1), Some(b'"' | b'\'')) => {
                self.at += 2;
                self.raw()
            }
            Some(byte) if byte.is_ascii_digit() => {
                let rest = &self.text[at..];
                let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                self.at += len;
                match String::from_utf8_lossy(&rest[..len]).parse() {
                    Ok(number) => Ok(Expr::Number(number)),
                    Err(_) => self.fail(at, "invalid token"),
                }
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let name = self.name();
                if self.peek() == Some(b'(') {
                    self.at += 1;
                    return self.call(name, depth);
                }
                Ok(Expr::Symbol(name))
            }
            None => self.fail(self.brace, "unterminated template expansion"),
            Some(b'}' | b',') => self.fail(at, "not a prefix: end"),
            Some(b'%') => self.fail(at, "not a prefix: %"),
            Some(_) => self.fail(at, "syntax error"),
        }
    }

    /// `r'…'`, in which nothing is special.
    fn raw(&mut self) -> Result<Expr, Abort> {
        let start = self.at;
        let mark = self.text[start - 1];
        let rest = &self.text[start..];
        let Some(len) = rest.iter().position(|byte| *byte == mark) else {
            return self.fail(start, "unterminated string");
        };
        self.at = start + len + 1;
        Ok(Expr::Text(rest[..len].to_vec()))
    }

    fn call(&mut self, name: String, depth: usize) -> Result<Expr, Abort> {
        let mut arguments = Vec::new();
        loop {
            self.blanks();
            if self.peek() == Some(b')') {
                self.at += 1;
                return Ok(Expr::Call(name, arguments));
            }
            if !arguments.is_empty() {
                self.expect(b',')?;
            }
            let argument = self.sum(depth + 1)?;
            self.blanks();
            arguments.push(match argument {
                Expr::Symbol(key) if self.peek() == Some(b'=') => {
                    self.at += 1;
                    Expr::Named(key, Box::new(self.sum(depth + 1)?))
                }
                plain => plain,
            });
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Abort> {
        self.blanks();
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            None => self.fail(self.brace, "unterminated template expansion"),
            Some(b'}') => self.fail(self.at, "unexpected token: end"),
            Some(_) => self.fail(self.at, "invalid token"),
        }
    }
}
