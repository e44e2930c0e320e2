//! The operators of filesets and the nodes that they make.

use super::{Expr, FilesetError};
use crate::expression::{Cursor, Grammar, Operator, SyntaxError, Token, parse_all};

/// Parses a fileset.
///
/// # Errors
/// [`FilesetError`] with the position.
pub fn parse(text: &[u8]) -> Result<Expr, FilesetError> {
    let mut grammar = FilesetGrammar {
        cursor: Cursor::new(text),
    };
    Ok(parse_all(&mut grammar, 0)?.root)
}

struct FilesetGrammar<'t> {
    cursor: Cursor<'t>,
}

/// Signs with the names that messages and the table have for them.
const SIGNS: &[(&str, &str)] = &[
    ("(", "("),
    (")", ")"),
    ("-", "-"),
    (":", ":"),
    (",", ","),
    ("&", "and"),
    ("|", "or"),
    ("+", "or"),
    ("!", "not"),
];

/// Operators that are words.
const WORDS: &[&str] = &["and", "or", "not"];

fn is_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b".*{}[]?/\\_".contains(&byte)
}

impl Grammar for FilesetGrammar<'_> {
    type Node = Expr;

    const OPERATORS: &'static [Operator] = &[
        Operator::infix(":", 15),
        Operator::prefix("not", 10),
        Operator::infix("and", 5),
        Operator::infix("-", 5).or_prefix(19),
        Operator::infix("or", 4),
        Operator::infix(",", 2),
    ];
    const CALL: u8 = 20;
    const MAX_DEPTH: usize = 100;
    const NAME: &'static str = "fileset";

    fn next_token(&mut self, _: usize) -> Result<(usize, Token<Expr>), SyntaxError> {
        self.cursor.skip_whitespace();
        let at = self.cursor.position();
        if self.cursor.peek().is_none() {
            return Ok((at, Token::End));
        }
        if let Some((at, text)) = self.cursor.string()? {
            return Ok((at, Token::operand("string", Expr::Text(text))));
        }
        let rest = self.cursor.rest();
        if let Some((sign, name)) = SIGNS
            .iter()
            .find(|(sign, _)| rest.starts_with(sign.as_bytes()))
        {
            self.cursor.advance(sign.len());
            return Ok((at, Token::Operator(name)));
        }
        let symbol = self.cursor.take_while(is_symbol);
        if symbol.is_empty() {
            return Err(SyntaxError::at(at, "syntax error"));
        }
        let word = WORDS.iter().find(|word| word.as_bytes() == symbol);
        let symbol = || Token::operand("symbol", Expr::Symbol(symbol.to_vec()));
        Ok((at, word.map_or_else(symbol, |word| Token::Operator(word))))
    }

    fn prefix(&mut self, operator: &'static str, operand: Expr) -> Result<Expr, SyntaxError> {
        Ok(match operator {
            "not" => Expr::Not(Box::new(operand)),
            _ => Expr::Negative,
        })
    }

    fn infix(
        &mut self,
        operator: &'static str,
        left: Expr,
        right: Expr,
    ) -> Result<Expr, SyntaxError> {
        Ok(match (operator, left, right) {
            (":", Expr::Symbol(kind), Expr::Symbol(text) | Expr::Text(text)) => {
                Expr::Kind(kind, text)
            }
            (":", ..) => return Err(SyntaxError::new("pattern must be a string")),
            ("and", left, right) => Expr::And(Box::new(left), Box::new(right)),
            ("-", left, right) => Expr::Minus(Box::new(left), Box::new(right)),
            ("or", Expr::Or(mut all), right) => {
                all.push(right);
                Expr::Or(all)
            }
            ("or", left, right) => Expr::Or(vec![left, right]),
            (_, Expr::List(mut all), right) => {
                all.push(right);
                Expr::List(all)
            }
            (_, left, right) => Expr::List(vec![left, right]),
        })
    }

    fn call(
        &mut self,
        _: usize,
        function: Expr,
        arguments: Option<Expr>,
    ) -> Result<Expr, SyntaxError> {
        let Expr::Symbol(name) = function else {
            return Err(SyntaxError::new("not a symbol"));
        };
        Ok(Expr::Call(
            name,
            match arguments {
                None => Vec::new(),
                Some(Expr::List(all)) => all,
                Some(one) => vec![one],
            },
        ))
    }

    fn is_chain(&self, operator: &'static str, left: &Expr) -> bool {
        matches!((operator, left), ("or", Expr::Or(_)) | (",", Expr::List(_)))
    }
}

#[cfg(test)]
mod tests;
