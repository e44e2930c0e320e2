//! From words to a tree.
//!
//! ```text
//! 20  f(x)    15  kind:pattern    19  -x    10  not x    5  x and y  x - y    4  x or y    2  x, y
//! ```

use super::FilesetError;
use super::token::{Token, tokens};

/// Deepest nesting.
const DEEPEST: usize = 100;

/// A node of a fileset's syntax tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A name or pattern without quotes.
    Symbol(Vec<u8>),
    /// The same with quotes.
    Text(Vec<u8>),
    /// `kind:pattern`.
    Kind(Vec<u8>, Vec<u8>),
    /// `name(arguments)`.
    Call(Vec<u8>, Vec<Expr>),
    /// What does not match.
    Not(Box<Expr>),
    /// What matches both.
    And(Box<Expr>, Box<Expr>),
    /// What matches the first and not the second.
    Minus(Box<Expr>, Box<Expr>),
    /// What matches any.
    Or(Vec<Expr>),
    /// `x, y`, which only calls take.
    List(Vec<Expr>),
    /// `-x`, which nothing takes.
    Negative,
}

/// Parses a fileset.
///
/// # Errors
/// [`FilesetError`] with the position.
pub fn parse(text: &[u8]) -> Result<Expr, FilesetError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
    };
    let (tree, _) = parser.expression(0, 0)?;
    match parser.peek() {
        (_, Token::End) => Ok(tree),
        (at, _) => Err(FilesetError::at(*at, "invalid token")),
    }
}

struct Parser {
    /// Ends with [`Token::End`], which is never passed.
    tokens: Vec<(usize, Token)>,
    next: usize,
}

fn strength(token: &Token) -> u8 {
    match token {
        Token::Operator("(") => 20,
        Token::Operator(":") => 15,
        Token::Operator("and" | "-") => 5,
        Token::Operator("or") => 4,
        Token::Operator(",") => 2,
        _ => 0,
    }
}

/// A tree and how deep it is.
type Parsed = Result<(Expr, usize), FilesetError>;

fn deeper(expr: Expr, below: usize) -> Parsed {
    if below >= DEEPEST {
        return Err(too_deep());
    }
    Ok((expr, below + 1))
}

/// One more item makes no tree deeper, unless it is deep itself.
fn longer(
    mut all: Vec<Expr>,
    item: Expr,
    whole: fn(Vec<Expr>) -> Expr,
    depth: usize,
    depth_item: usize,
) -> Parsed {
    all.push(item);
    if depth_item >= DEEPEST {
        return Err(too_deep());
    }
    Ok((whole(all), depth.max(depth_item + 1)))
}

fn too_deep() -> FilesetError {
    FilesetError::new("fileset is nested too deeply")
}

impl Parser {
    fn peek(&self) -> &(usize, Token) {
        &self.tokens[self.next]
    }

    fn take(&mut self) -> (usize, Token) {
        let token = self.tokens[self.next].clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn close(&mut self) -> Result<(), FilesetError> {
        match self.take() {
            (_, Token::Operator(")")) => Ok(()),
            (at, token) => {
                let message = format!("unexpected token: {}", token.name());
                Err(FilesetError::at(at, message))
            }
        }
    }

    fn expression(&mut self, least: u8, depth: usize) -> Parsed {
        if depth > DEEPEST {
            return Err(too_deep());
        }
        let mut left = self.operand(depth)?;
        while strength(&self.peek().1) > least {
            left = self.operator(left, depth)?;
        }
        Ok(left)
    }

    fn operand(&mut self, depth: usize) -> Parsed {
        let (at, token) = self.take();
        match token {
            Token::Symbol(name) => Ok((Expr::Symbol(name), 1)),
            Token::Text(text) => Ok((Expr::Text(text), 1)),
            Token::Operator("(") => {
                let inner = self.expression(1, depth + 1)?;
                self.close()?;
                Ok(inner)
            }
            Token::Operator("not") => {
                let (inner, below) = self.expression(10, depth + 1)?;
                deeper(Expr::Not(Box::new(inner)), below)
            }
            Token::Operator("-") => {
                let (_, below) = self.expression(19, depth + 1)?;
                deeper(Expr::Negative, below)
            }
            other => {
                let message = format!("not a prefix: {}", other.name());
                Err(FilesetError::at(at, message))
            }
        }
    }

    fn operator(&mut self, (left, depth_left): (Expr, usize), depth: usize) -> Parsed {
        let (_, token) = self.take();
        if token == Token::Operator("(") {
            return self.call(left, depth);
        }
        let (right, depth_right) = self.expression(strength(&token), depth + 1)?;
        let below = depth_left.max(depth_right);
        let joined = match token.name() {
            ":" => {
                let (Expr::Symbol(kind), Expr::Symbol(text) | Expr::Text(text)) = (left, right)
                else {
                    return Err(FilesetError::new("pattern must be a string"));
                };
                return Ok((Expr::Kind(kind, text), 1));
            }
            "and" => Expr::And(Box::new(left), Box::new(right)),
            "-" => Expr::Minus(Box::new(left), Box::new(right)),
            "or" => match left {
                Expr::Or(all) => return longer(all, right, Expr::Or, depth_left, depth_right),
                left => Expr::Or(vec![left, right]),
            },
            _ => match left {
                Expr::List(all) => return longer(all, right, Expr::List, depth_left, depth_right),
                left => Expr::List(vec![left, right]),
            },
        };
        deeper(joined, below)
    }

    fn call(&mut self, name: Expr, depth: usize) -> Parsed {
        let mut arguments = (Vec::new(), 0);
        if !matches!(self.peek().1, Token::Operator(")")) {
            let (inner, below) = self.expression(1, depth + 1)?;
            arguments = match inner {
                Expr::List(all) => (all, below),
                one => (vec![one], below),
            };
        }
        self.close()?;
        let Expr::Symbol(name) = name else {
            return Err(FilesetError::new("not a symbol"));
        };
        deeper(Expr::Call(name, arguments.0), arguments.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (Option<usize>, String) {
        let error = parse(text.as_bytes()).unwrap_err();
        (error.at, error.message)
    }

    #[test]
    fn errors_are_placed_as_in_mercurial() {
        for (text, at, message) in [
            ("", Some(0), "not a prefix: end"),
            ("(", Some(1), "not a prefix: end"),
            ("(m", Some(2), "unexpected token: end"),
            ("a b", Some(2), "invalid token"),
            ("m)", Some(1), "invalid token"),
            ("m,", Some(2), "not a prefix: end"),
            ("path:", Some(5), "not a prefix: end"),
            ("\"a", Some(1), "unterminated string"),
            ("$x", Some(0), "syntax error"),
            ("(m|c)(x)", None, "not a symbol"),
        ] {
            assert_eq!(error(text), (at, message.to_owned()), "{text}");
        }
    }

    #[test]
    fn operators_bind_as_in_mercurial() {
        let symbol = |name: &str| Box::new(Expr::Symbol(name.as_bytes().to_vec()));
        let tree = parse(b"! m & a or d/*.c").unwrap();
        let and = Expr::And(Box::new(Expr::Not(symbol("m"))), symbol("a"));
        assert_eq!(tree, Expr::Or(vec![and, *symbol("d/*.c")]));
        let tree = parse(b"path:'a b'").unwrap();
        assert_eq!(tree, Expr::Kind(b"path".to_vec(), b"a b".to_vec()));
    }

    #[test]
    fn depth_is_bounded_but_alternatives_are_not() {
        assert!(parse("(".repeat(10_000).as_bytes()).is_err());
        assert!(parse(format!("a{}", "&a".repeat(10_000)).as_bytes()).is_err());
        assert!(parse(format!("a{}", "|a".repeat(10_000)).as_bytes()).is_ok());
    }
}
