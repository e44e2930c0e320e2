//! The operators of revsets and the nodes that they make.

use crate::RevsetError;
use crate::lower::{concatenated, lower};
use crate::syntax::Syntax;
use crate::tree::{Expr, RangeKind};
use std::collections::VecDeque;
use varve_lang::expression::{Cursor, Grammar, Operator, SyntaxError, Token, parse_all};

/// Parses a revset. `is_name` decides whether a word with hyphens is one name or a difference.
///
/// # Errors
/// [`RevsetError::Parse`] with the position.
pub fn parse(query: &[u8], is_name: &dyn Fn(&[u8]) -> bool) -> Result<Expr, RevsetError> {
    lower(&concatenated(parse_syntax(query, is_name)?)?)
}

/// Parses a revset to the tree that it is written as.
///
/// # Errors
/// [`RevsetError::Parse`] with the position.
pub fn parse_syntax(query: &[u8], is_name: &dyn Fn(&[u8]) -> bool) -> Result<Syntax, RevsetError> {
    if query.trim_ascii().is_empty() {
        return Err(RevsetError::parse("empty query"));
    }
    match names_or_range(query, is_name) {
        Some(tree) => Ok(tree),
        None => parse_with(query, is_name, false),
    }
}

/// The tree of a name that has signs of the language in it, or of a range of such names.
fn names_or_range(query: &[u8], is_name: &dyn Fn(&[u8]) -> bool) -> Option<Syntax> {
    let colon = query.iter().position(|byte| *byte == b':');
    let symbol = |name: &[u8]| match name {
        [] => Some(None),
        name => is_name(name).then(|| Some(Syntax::Symbol(name.to_vec()))),
    };
    let Some(colon) = colon else {
        return symbol(query)?;
    };
    let ends = (symbol(&query[..colon])?, symbol(&query[colon + 1..])?);
    Some(match ends {
        (None, None) => Syntax::Node("rangeall", vec![Syntax::Absent]),
        (None, Some(last)) => Syntax::Node("rangepre", vec![last]),
        (Some(first), None) => Syntax::Node("rangepost", vec![first]),
        (Some(first), Some(last)) => Syntax::Node("range", vec![first, last]),
    })
}

/// Parses the definition of an alias, in which names of arguments may begin with a dollar sign.
pub(crate) fn parse_definition(definition: &[u8]) -> Result<Syntax, RevsetError> {
    parse_with(definition, &|_| false, true)
}

fn parse_with(
    query: &[u8],
    is_name: &dyn Fn(&[u8]) -> bool,
    in_alias: bool,
) -> Result<Syntax, RevsetError> {
    let mut grammar = RevsetGrammar {
        cursor: Cursor::new(query),
        is_name,
        in_alias,
        queue: VecDeque::new(),
    };
    Ok(parse_all(&mut grammar, 0)?.root)
}

struct RevsetGrammar<'q> {
    cursor: Cursor<'q>,
    is_name: &'q dyn Fn(&[u8]) -> bool,
    /// Whether names may begin with a dollar sign.
    in_alias: bool,
    /// Tokens of a word with hyphens that are read already.
    queue: VecDeque<(usize, Token<Syntax>)>,
}

/// Operators that are signs; longer ones before their prefixes.
const SIGNS: &[&str] = &[
    "::", "..", "##", "(", ")", ":", "=", ",", "-", "|", "&", "+", "!", "~", "^", "%", "#", "[",
    "]",
];

/// Operators that are words.
const WORDS: &[&str] = &["and", "or", "not"];

fn range(operator: &str) -> Option<RangeKind> {
    match operator {
        ":" => Some(RangeKind::Numbers),
        "::" | ".." => Some(RangeKind::Descent),
        _ => None,
    }
}

/// Every operator of a range exists in all forms.
const fn range_operator(name: &'static str, strength: u8) -> Operator {
    Operator::infix(name, strength)
        .or_prefix(strength)
        .or_postfix()
        .or_nullary()
}

impl Grammar for RevsetGrammar<'_> {
    type Node = Syntax;

    const OPERATORS: &'static [Operator] = &[
        Operator::infix("#", 21),
        Operator::infix("##", 20),
        Operator::infix("~", 18),
        Operator::infix("^", 18).or_postfix(),
        range_operator("::", 17),
        range_operator("..", 17),
        range_operator(":", 15),
        Operator::prefix("not", 10),
        Operator::prefix("!", 10),
        Operator::infix("and", 5),
        Operator::infix("&", 5),
        Operator::infix("-", 5).or_prefix(19),
        Operator::infix("%", 5).or_postfix(),
        Operator::infix("or", 4),
        Operator::infix("|", 4),
        Operator::infix("+", 4),
        Operator::infix("=", 3),
        Operator::infix(",", 2),
    ];
    const CALL: u8 = 21;
    const SUBSCRIPT: u8 = 21;
    const MAX_DEPTH: usize = 200;
    const NAME: &'static str = "query";

    fn next_token(&mut self, _: usize) -> Result<(usize, Token<Syntax>), SyntaxError> {
        if let Some(queued) = self.queue.pop_front() {
            return Ok(queued);
        }
        self.cursor.skip_whitespace();
        let at = self.cursor.position();
        let Some(byte) = self.cursor.peek() else {
            return Ok((at, Token::End));
        };
        if let Some(sign) = self.cursor.operator(SIGNS) {
            return Ok((at, Token::Operator(sign)));
        }
        if let Some((at, text)) = self.cursor.string()? {
            return Ok((at, Token::operand("string", Syntax::Text(text))));
        }
        if begins_symbol(byte) || byte == b'$' && self.in_alias {
            return Ok(self.symbol(at));
        }
        let shown = String::from_utf8_lossy(self.cursor.text());
        let message = format!("syntax error in revset '{shown}'");
        Err(SyntaxError::at(at, message))
    }

    fn nullary(&mut self, operator: &'static str) -> Result<Syntax, SyntaxError> {
        let name = match range(operator) {
            Some(RangeKind::Numbers) => "rangeall",
            _ => "dagrangeall",
        };
        Ok(Syntax::Node(name, vec![Syntax::Absent]))
    }

    fn prefix(&mut self, operator: &'static str, operand: Syntax) -> Result<Syntax, SyntaxError> {
        let name = match (operator, range(operator)) {
            (_, Some(RangeKind::Numbers)) => "rangepre",
            (_, Some(RangeKind::Descent)) => "dagrangepre",
            ("-", None) => "negate",
            _ => "not",
        };
        Ok(Syntax::Node(name, vec![operand]))
    }

    fn postfix(&mut self, operator: &'static str, operand: Syntax) -> Result<Syntax, SyntaxError> {
        let name = match (operator, range(operator)) {
            (_, Some(RangeKind::Numbers)) => "rangepost",
            (_, Some(RangeKind::Descent)) => "dagrangepost",
            ("^", None) => "parentpost",
            _ => "onlypost",
        };
        Ok(Syntax::Node(name, vec![operand]))
    }

    fn infix(
        &mut self,
        operator: &'static str,
        left: Syntax,
        right: Syntax,
    ) -> Result<Syntax, SyntaxError> {
        let name = match (operator, range(operator)) {
            (_, Some(RangeKind::Numbers)) => "range",
            (_, Some(RangeKind::Descent)) => "dagrange",
            ("^", _) => "parent",
            ("~", _) => "ancestor",
            ("and" | "&", _) => "and",
            ("-", _) => "minus",
            ("%", _) => "only",
            ("##", _) => "_concat",
            ("#", _) => "relation",
            ("=", _) => "keyvalue",
            ("or" | "|" | "+", _) => return Ok(Syntax::chained("or", left, right)),
            _ => return Ok(Syntax::chained("list", left, right)),
        };
        Ok(Syntax::Node(name, vec![left, right]))
    }

    fn subscript(&mut self, operand: Syntax, subscript: Syntax) -> Result<Syntax, SyntaxError> {
        Ok(match operand {
            Syntax::Node("relation", mut operands) => {
                operands.push(subscript);
                Syntax::Node("relsubscript", operands)
            }
            other => Syntax::Node("subscript", vec![other, subscript]),
        })
    }

    fn empty_group(&mut self) -> Result<Syntax, SyntaxError> {
        Ok(Syntax::Node("group", vec![Syntax::Absent]))
    }

    fn group(&mut self, inner: Syntax) -> Result<Syntax, SyntaxError> {
        Ok(Syntax::Node("group", vec![inner]))
    }

    fn call(
        &mut self,
        _at: usize,
        function: Syntax,
        arguments: Option<Syntax>,
    ) -> Result<Syntax, SyntaxError> {
        if !matches!(function, Syntax::Symbol(_)) {
            return Err(SyntaxError::new("not a symbol"));
        }
        let arguments = arguments.unwrap_or(Syntax::Absent);
        Ok(Syntax::Node("func", vec![function, arguments]))
    }

    fn is_chain(&self, operator: &'static str, left: &Syntax) -> bool {
        match operator {
            "or" | "|" | "+" => matches!(left, Syntax::Node("or", _)),
            "," => matches!(left, Syntax::Node("list", _)),
            _ => false,
        }
    }

    /// `x^:y` begins at the parent of `x`; the number of a parent never begins with a colon.
    fn is_postfix_before(&self, operator: &'static str, next: &Token<Syntax>) -> bool {
        operator == "^" && range(next.name()).is_some()
    }
}

fn begins_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'@') || byte > 127
}

fn symbol_len(rest: &[u8]) -> usize {
    let belongs = |byte: u8| begins_symbol(byte) || matches!(byte, b'-' | b'/');
    let mut len = 1;
    while let Some(byte) = rest.get(len).copied().filter(|byte| belongs(*byte)) {
        // A range of two dots ends the name before it.
        if byte == b'.' && rest[len - 1] == b'.' {
            return len - 1;
        }
        len += 1;
    }
    len
}

impl RevsetGrammar<'_> {
    /// Reads a word. One with hyphens that is no name is split into names and minus signs.
    fn symbol(&mut self, at: usize) -> (usize, Token<Syntax>) {
        let rest = self.cursor.rest();
        let symbol = &rest[..symbol_len(rest)];
        self.cursor.advance(symbol.len());
        if let Some(word) = WORDS.iter().find(|word| word.as_bytes() == symbol) {
            return (at, Token::Operator(word));
        }
        let name = |name: &[u8]| Token::operand("symbol", Syntax::Symbol(name.to_vec()));
        let end = symbol.iter().position(|byte| *byte == b'-');
        let Some(end) = end.filter(|_| !(self.is_name)(symbol)) else {
            return (at, name(symbol));
        };
        let mut position = at + end;
        for part in symbol[end + 1..].split(|byte| *byte == b'-') {
            self.queue.push_back((position, Token::Operator("-")));
            if !part.is_empty() {
                self.queue.push_back((position + 1, name(part)));
            }
            position += 1 + part.len();
        }
        (at, name(&symbol[..end]))
    }
}

#[cfg(test)]
mod tests;
