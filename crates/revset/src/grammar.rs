//! The operators of revsets and the nodes that they make.

use crate::RevsetError;
use crate::tree::{Expr, Infix, Postfix, Prefix, RangeKind};
use std::collections::VecDeque;
use varve_lang::expression::{Cursor, Grammar, Operator, SyntaxError, Token, parse_all};

/// Parses a revset. `is_name` decides whether a word with hyphens is one name or a difference.
///
/// # Errors
/// [`RevsetError::Parse`] with the position.
pub fn parse(query: &[u8], is_name: &dyn Fn(&[u8]) -> bool) -> Result<Expr, RevsetError> {
    if query.trim_ascii().is_empty() {
        return Err(RevsetError::parse("empty query"));
    }
    let mut grammar = RevsetGrammar {
        cursor: Cursor::new(query),
        is_name,
        queue: VecDeque::new(),
    };
    Ok(parse_all(&mut grammar, 0)?.root)
}

struct RevsetGrammar<'q> {
    cursor: Cursor<'q>,
    is_name: &'q dyn Fn(&[u8]) -> bool,
    /// Tokens of a word with hyphens that are read already.
    queue: VecDeque<(usize, Token<Expr>)>,
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
    type Node = Expr;

    const OPERATORS: &'static [Operator] = &[
        Operator::infix("[", 21),
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
    const MAX_DEPTH: usize = 200;
    const NAME: &'static str = "query";

    fn next_token(&mut self, _: usize) -> Result<(usize, Token<Expr>), SyntaxError> {
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
            return Ok((at, Token::operand("string", Expr::Text(text))));
        }
        if begins_symbol(byte) {
            return Ok(self.symbol(at));
        }
        let shown = String::from_utf8_lossy(self.cursor.text());
        let message = format!("syntax error in revset '{shown}'");
        Err(SyntaxError::at(at, message))
    }

    fn nullary(&mut self, operator: &'static str) -> Result<Expr, SyntaxError> {
        let range = range(operator).ok_or_else(|| not_in_context("operator"))?;
        Ok(Expr::Whole(range))
    }

    fn prefix(&mut self, operator: &'static str, operand: Expr) -> Result<Expr, SyntaxError> {
        let prefix = match (operator, range(operator)) {
            (_, Some(range)) => Prefix::Upto(range),
            ("-", None) => Prefix::Minus,
            _ => Prefix::Not,
        };
        Ok(Expr::Prefix(prefix, Box::new(operand)))
    }

    fn postfix(&mut self, operator: &'static str, operand: Expr) -> Result<Expr, SyntaxError> {
        let postfix = match (operator, range(operator)) {
            (_, Some(range)) => Postfix::From(range),
            ("^", None) => Postfix::Parent,
            _ => Postfix::Only,
        };
        Ok(Expr::Postfix(postfix, Box::new(operand)))
    }

    fn infix(
        &mut self,
        operator: &'static str,
        left: Expr,
        right: Expr,
    ) -> Result<Expr, SyntaxError> {
        let infix = match operator {
            "^" => Infix::Parent,
            "~" => Infix::Ancestor,
            "and" | "&" => Infix::And,
            "-" => Infix::Minus,
            "%" => Infix::Only,
            "##" => Infix::Concat,
            "or" | "|" | "+" => return Ok(Expr::or(left, right)),
            "=" => return Ok(Expr::KeyValue(Box::new(left), Box::new(right))),
            "," => {
                let mut items = match left {
                    Expr::List(items) => items,
                    other => vec![other],
                };
                items.push(right);
                return Ok(Expr::List(items));
            }
            "[" => return Err(not_in_context("a subscript")),
            "#" => return Err(not_in_context("a relation")),
            _ => Infix::Between(range(operator).ok_or_else(|| not_in_context("operator"))?),
        };
        Ok(Expr::Infix(infix, Box::new(left), Box::new(right)))
    }

    fn call(
        &mut self,
        at: usize,
        function: Expr,
        arguments: Option<Expr>,
    ) -> Result<Expr, SyntaxError> {
        let Expr::Symbol(name) = function else {
            return Err(SyntaxError::at(at, "not a symbol"));
        };
        Ok(Expr::Call(
            name,
            match arguments {
                None => Vec::new(),
                Some(Expr::List(arguments)) => arguments,
                Some(one) => vec![one],
            },
        ))
    }

    fn is_chain(&self, operator: &'static str, left: &Expr) -> bool {
        match operator {
            "or" | "|" | "+" => matches!(left, Expr::Or(_)),
            "," => matches!(left, Expr::List(_)),
            _ => false,
        }
    }

    /// `x^:y` begins at the parent of `x`; the number of a parent never begins with a colon.
    fn is_postfix_before(&self, operator: &'static str, next: &Token<Expr>) -> bool {
        operator == "^" && range(next.name()).is_some()
    }
}

fn not_in_context(what: &str) -> SyntaxError {
    SyntaxError::new(format!("can't use {what} in this context"))
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
    fn symbol(&mut self, at: usize) -> (usize, Token<Expr>) {
        let rest = self.cursor.rest();
        let symbol = &rest[..symbol_len(rest)];
        self.cursor.advance(symbol.len());
        if let Some(word) = WORDS.iter().find(|word| word.as_bytes() == symbol) {
            return (at, Token::Operator(word));
        }
        let name = |name: &[u8]| Token::operand("symbol", Expr::Symbol(name.to_vec()));
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
