//! The grammar of templates.
//!
//! ```text
//! text {keyword} {expression|filter} {list % "{item}"} {function(argument, ...)} {number + number}
//! ```
//! A string in an expression is a template again.

use crate::ui::Abort;
use std::collections::BTreeSet;
use varve_lang::expression::{
    Cursor, Grammar, Operator, SyntaxError, Token, Tree, parse_all, unescape,
};

/// Greatest depth of a template's tree.
const MAX_DEPTH: usize = 100;

/// A node of a template's syntax tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    /// Literal text.
    Text(Vec<u8>),
    /// Parts that are printed one after the other.
    Template(Vec<Expr>),
    /// A keyword.
    Symbol(String),
    Number(i64),
    /// `value|filter`.
    Filter(Box<Expr>, String),
    /// `list % template`.
    Map(Box<Expr>, Box<Expr>),
    /// `function(…)`.
    Call(String, Vec<Expr>),
    /// `name=value`, an argument of a function.
    Named(String, Box<Expr>),
    /// `value.name`.
    Member(Box<Expr>, String),
    /// `a + b` and the like.
    Arithmetic(u8, Box<Expr>, Box<Expr>),
    /// `-a`.
    Negate(Box<Expr>),
    /// `a, b`; in a parsed template only [`Call`](Self::Call) has lists.
    List(Vec<Expr>),
    /// `(a)`.
    Group(Box<Expr>),
}

impl Expr {
    /// Adds the names of all keywords in the tree.
    pub(super) fn push_names<'e>(&'e self, names: &mut BTreeSet<&'e str>) {
        match self {
            Expr::Text(_) | Expr::Number(_) => {}
            Expr::Symbol(name) => {
                names.insert(name);
            }
            Expr::Template(parts) | Expr::Call(_, parts) | Expr::List(parts) => {
                parts.iter().for_each(|part| part.push_names(names));
            }
            Expr::Filter(operand, _) | Expr::Negate(operand) | Expr::Group(operand) => {
                operand.push_names(names)
            }
            Expr::Member(operand, name) | Expr::Named(name, operand) => {
                names.insert(name);
                operand.push_names(names);
            }
            Expr::Map(left, right) | Expr::Arithmetic(_, left, right) => {
                left.push_names(names);
                right.push_names(names);
            }
        }
    }

    /// True if a function is called in the tree.
    pub(super) fn calls(&self, function: &str) -> bool {
        super::tree::functions(self).contains(function)
    }

    /// The kind of node, for messages.
    fn kind(&self) -> &'static str {
        match self {
            Expr::Text(_) => "string",
            Expr::Template(_) => "template",
            Expr::Symbol(_) => "symbol",
            Expr::Number(_) => "integer",
            Expr::Filter(..) => "|",
            Expr::Map(..) => "%",
            Expr::Call(..) => "func",
            Expr::Named(..) => "keyvalue",
            Expr::Member(..) => ".",
            Expr::Arithmetic(b'+', ..) => "+",
            Expr::Arithmetic(b'-', ..) => "-",
            Expr::Arithmetic(b'*', ..) => "*",
            Expr::Arithmetic(..) => "/",
            Expr::Negate(_) => "negate",
            Expr::List(_) => "list",
            Expr::Group(_) => "group",
        }
    }

    /// The expression as one value.
    fn value(self) -> Result<Expr, SyntaxError> {
        match self {
            Expr::Group(inner) => inner.boxed_value().map(Expr::Group),
            Expr::List(_) => Err(SyntaxError::new("can't use a list in this context")
                .with_hint("check place of comma and parens")),
            Expr::Named(..) => Err(not_a_value()),
            value => Ok(value),
        }
    }

    fn boxed_value(self) -> Result<Box<Expr>, SyntaxError> {
        self.value().map(Box::new)
    }

    /// The name of a filter, function or member.
    fn symbol(self) -> Result<String, SyntaxError> {
        match self {
            Expr::Symbol(name) => Ok(name),
            other => {
                let message = format!("expected a symbol, got '{}'", other.kind());
                Err(SyntaxError::new(message))
            }
        }
    }
}

fn not_a_value() -> SyntaxError {
    SyntaxError::new("can't use a key-value pair in this context")
}

/// Parses a template.
///
/// # Errors
/// [`Abort::Parse`], with a hint that shows the position in the text.
pub(super) fn parse(text: &[u8]) -> Result<Expr, Abort> {
    let parsed = template(&mut Cursor::new(text), None, 0);
    told(parsed, text)
}

/// The same of a line for the shell, which has backslashes of its own: they mean nothing outside of braces.
///
/// # Errors
/// As of [`parse`].
pub(super) fn parse_line(text: &[u8]) -> Result<Expr, Abort> {
    let mut cursor = Cursor::new(text);
    let mut parts = Vec::new();
    loop {
        let plain = cursor.take_while(|byte| byte != b'{');
        parts.push(Expr::Text(plain.to_vec()));
        if cursor.peek().is_none() {
            return Ok(Expr::Template(parts));
        }
        parts.push(told(braced(&mut cursor, 0), text)?);
    }
}

/// The tree, or the error with a mark below the place.
fn told(parsed: Result<Tree<Expr>, SyntaxError>, text: &[u8]) -> Result<Expr, Abort> {
    parsed.map(|tree| tree.root).map_err(|error| {
        let shown = String::from_utf8_lossy(text).replace('\n', "\\n");
        let mark = |at: usize| {
            let line_breaks = text[..at].iter().filter(|byte| **byte == b'\n').count();
            format!("{shown}\n{}^ here", " ".repeat(at + line_breaks + 1))
        };
        Abort::Parse {
            hint: error.hint.or(error.at.map(mark)),
            message: error.message,
            at: error.at,
        }
    })
}

/// Parses an expression that stands alone, without braces around it.
///
/// # Errors
/// The position and the fault.
pub(super) fn parse_expression(text: &[u8]) -> Result<Expr, SyntaxError> {
    let mut cursor = Cursor::new(text);
    let mut grammar = TemplateGrammar {
        cursor: &mut cursor,
        start: None,
    };
    parse_all(&mut grammar, 0)?.root.value()
}

/// Parses text with expressions up to the quotation mark `end`, or to the end of the text.
fn template(
    cursor: &mut Cursor<'_>,
    end: Option<u8>,
    depth: usize,
) -> Result<Tree<Expr>, SyntaxError> {
    if depth > MAX_DEPTH {
        return Err(SyntaxError::new("template is nested too deeply"));
    }
    let start = cursor.position();
    let (mut parts, mut below) = (Vec::new(), 0);
    loop {
        push_text(cursor, end, &mut parts)?;
        match cursor.peek() {
            None if end.is_some() => return Err(SyntaxError::at(start, "unterminated string")),
            None => break,
            Some(b'{') => {
                let inner = braced(cursor, depth)?;
                below = below.max(inner.depth);
                parts.push(inner.root);
            }
            Some(_) => {
                cursor.advance(1);
                break;
            }
        }
    }
    let root = match &mut parts[..] {
        [] => Expr::Text(Vec::new()),
        [Expr::Text(text)] => Expr::Text(std::mem::take(text)),
        _ => Expr::Template(parts),
    };
    let depth = below + 1;
    Ok(Tree { root, depth })
}

/// Reads text up to a brace or the quotation mark `end` that no backslash precedes.
fn push_text(
    cursor: &mut Cursor<'_>,
    end: Option<u8>,
    parts: &mut Vec<Expr>,
) -> Result<(), SyntaxError> {
    let mut text = Vec::new();
    loop {
        let plain = cursor.take_while(|byte| byte != b'{' && Some(byte) != end);
        let backslashes = plain.iter().rev().take_while(|byte| **byte == b'\\');
        let is_escaped = backslashes.count() % 2 == 1;
        match cursor.peek() {
            Some(stop) if is_escaped => {
                text.extend(unescape(&plain[..plain.len() - 1])?);
                text.push(stop);
                cursor.advance(1);
            }
            _ => {
                text.extend(unescape(plain)?);
                break;
            }
        }
    }
    if !text.is_empty() {
        parts.push(Expr::Text(text));
    }
    Ok(())
}

/// Parses the expression whose opening brace is next.
fn braced(cursor: &mut Cursor<'_>, depth: usize) -> Result<Tree<Expr>, SyntaxError> {
    cursor.advance(1);
    let start = cursor.position();
    let mut grammar = TemplateGrammar {
        cursor,
        start: Some(start),
    };
    let tree = parse_all(&mut grammar, depth + 1)?;
    cursor.advance(1);
    Ok(Tree {
        root: tree.root.value()?,
        ..tree
    })
}

/// The language between braces.
struct TemplateGrammar<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    /// Position behind the opening brace; `None` if the expression stands alone.
    start: Option<usize>,
}

impl TemplateGrammar<'_, '_> {
    /// Reads a string between quotation marks that have backslashes before them, as in a string of
    /// old templates; `None` if none begins here. It is read as a part of a string around it would be.
    fn escaped_string(
        &mut self,
        at: usize,
        depth: usize,
    ) -> Result<Option<Token<Expr>>, SyntaxError> {
        let rest = self.cursor.rest();
        let (is_raw, opened) = match rest {
            [b'\\', b'"' | b'\'', ..] => (false, 2),
            [b'r', b'\\', b'"' | b'\'', ..] => (true, 3),
            _ => return Ok(None),
        };
        let mark = &rest[opened - 2..opened];
        let mut end = opened;
        while !rest[end..].starts_with(mark) {
            end += match rest[end..].starts_with(br"\\\") {
                // An escaped mark within has two backslashes more.
                true => 4,
                false => 1,
            };
            if end >= rest.len() {
                return Err(SyntaxError::at(at + opened, "unterminated string"));
            }
        }
        let inner = unescape(&rest[opened..end])?;
        self.cursor.advance(end + mark.len());
        if is_raw {
            return Ok(Some(Token::operand("string", Expr::Text(inner))));
        }
        let tree = template(&mut Cursor::new(&inner), None, depth + 1)?;
        let kind = tree.root.kind();
        Ok(Some(Token::Operand { tree, kind }))
    }
}

const SIGNS: &[&str] = &["(", ")", "=", ",", ".", "%", "|", "+", "-", "*", "/"];

impl Grammar for TemplateGrammar<'_, '_> {
    type Node = Expr;

    const OPERATORS: &'static [Operator] = &[
        Operator::infix(".", 18),
        Operator::infix("%", 15),
        Operator::infix("|", 15),
        Operator::infix("*", 5),
        Operator::infix("/", 5),
        Operator::infix("+", 4),
        Operator::infix("-", 4).or_prefix(19),
        Operator::infix("=", 3),
        Operator::infix(",", 2),
    ];
    const CALL: u8 = 20;
    const MAX_DEPTH: usize = MAX_DEPTH;
    const NAME: &'static str = "template";

    fn next_token(&mut self, depth: usize) -> Result<(usize, Token<Expr>), SyntaxError> {
        self.cursor.skip_whitespace();
        let at = self.cursor.position();
        let Some(byte) = self.cursor.peek() else {
            return match self.start {
                Some(start) => Err(SyntaxError::at(start, "unterminated template expansion")),
                None => Ok((at, Token::End)),
            };
        };
        if byte == b'}' && self.start.is_some() {
            return Ok((at, Token::End));
        }
        if let Some(sign) = self.cursor.operator(SIGNS) {
            return Ok((at, Token::Operator(sign)));
        }
        if let Some(string) = self.escaped_string(at, depth)? {
            return Ok((at, string));
        }
        if let b'"' | b'\'' = byte {
            self.cursor.advance(1);
            let tree = template(self.cursor, Some(byte), depth + 1)?;
            let kind = tree.root.kind();
            return Ok((at + 1, Token::Operand { tree, kind }));
        }
        if let Some((at, raw)) = self.cursor.string()? {
            return Ok((at, Token::operand("string", Expr::Text(raw))));
        }
        if byte.is_ascii_digit() {
            let digits = self.cursor.take_while(|byte| byte.is_ascii_digit());
            let number = String::from_utf8_lossy(digits).parse();
            let number = number.map_err(|_| SyntaxError::at(at, "invalid token"))?;
            return Ok((at, Token::operand("integer", Expr::Number(number))));
        }
        let belongs = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let name = self.cursor.take_while(belongs);
        if name.is_empty() {
            return Err(SyntaxError::at(at, "syntax error"));
        }
        let name = String::from_utf8_lossy(name).into_owned();
        Ok((at, Token::operand("symbol", Expr::Symbol(name))))
    }

    fn prefix(&mut self, _: &'static str, operand: Expr) -> Result<Expr, SyntaxError> {
        operand.boxed_value().map(Expr::Negate)
    }

    fn infix(
        &mut self,
        operator: &'static str,
        left: Expr,
        right: Expr,
    ) -> Result<Expr, SyntaxError> {
        Ok(match operator {
            "." => Expr::Member(left.boxed_value()?, right.symbol()?),
            "|" => Expr::Filter(left.boxed_value()?, right.symbol()?),
            "%" => {
                if !matches!(right, Expr::Text(_) | Expr::Template(_) | Expr::Symbol(_)) {
                    return Err(SyntaxError::new("expected template specifier"));
                }
                Expr::Map(left.boxed_value()?, Box::new(right))
            }
            "=" => match left {
                Expr::Symbol(name) => Expr::Named(name, right.boxed_value()?),
                _ => return Err(not_a_value()),
            },
            "," => {
                let mut items = match left {
                    Expr::List(items) => items,
                    first => vec![first],
                };
                items.push(right);
                Expr::List(items)
            }
            sign => Expr::Arithmetic(
                sign.as_bytes()[0],
                left.boxed_value()?,
                right.boxed_value()?,
            ),
        })
    }

    fn call(
        &mut self,
        _: usize,
        function: Expr,
        arguments: Option<Expr>,
    ) -> Result<Expr, SyntaxError> {
        let name = function.symbol()?;
        let arguments = match arguments {
            None => Vec::new(),
            Some(Expr::List(items)) => items,
            Some(one) => vec![one],
        };
        let arguments = arguments.into_iter().map(|argument| match argument {
            Expr::Named(..) => Ok(argument),
            argument => argument.value(),
        });
        Ok(Expr::Call(name, arguments.collect::<Result<_, _>>()?))
    }

    fn group(&mut self, inner: Expr) -> Result<Expr, SyntaxError> {
        Ok(Expr::Group(Box::new(inner)))
    }

    fn is_chain(&self, operator: &'static str, left: &Expr) -> bool {
        operator == "," && matches!(left, Expr::List(_))
    }
}

#[cfg(test)]
mod tests;
