//! From tokens to a tree, by the binding strength of each operator.
//!
//! ```text
//! 20  x##y          17  x::y  ::x  x::  x..y      10  not x  !x         3  name=value
//! 19  -x            15  x:y   :x   x:              5  x and y  x-y  x%y  2  x, y
//! 18  x^n  x~n  x^                                 4  x or y
//! ```

use crate::RevsetError;
use crate::token::{Token, tokens};
use crate::tree::{Expr, Infix, Postfix, Prefix, Range};

/// Deepest tree; alternatives do not count, however many.
const DEEPEST: usize = 200;

/// Reads a query. `is_name` decides whether a word with hyphens is one name or a difference.
///
/// # Errors
/// [`RevsetError::Parse`] with the place.
pub fn parse(query: &[u8], is_name: &dyn Fn(&[u8]) -> bool) -> Result<Expr, RevsetError> {
    let tokens = tokens(query, is_name)?;
    if tokens.len() == 1 {
        return Err(RevsetError::parse("empty query"));
    }
    let mut parser = Parser { tokens, next: 0 };
    let (tree, _) = parser.expression(0, 0)?;
    match parser.peek() {
        (_, Token::End) => Ok(tree),
        (at, _) => Err(RevsetError::at(*at, "invalid token")),
    }
}

struct Parser {
    /// Ends with [`Token::End`], which is never taken twice.
    tokens: Vec<(usize, Token)>,
    next: usize,
}

/// How strongly an operator binds when it stands behind an operand; 0 if it does not.
fn strength(token: &Token) -> u8 {
    let Token::Operator(operator) = token else {
        return 0;
    };
    match *operator {
        "(" | "[" | "#" => 21,
        "##" => 20,
        "~" | "^" => 18,
        "::" | ".." => 17,
        ":" => 15,
        "not" | "!" => 10,
        "and" | "&" | "-" | "%" => 5,
        "or" | "|" | "+" => 4,
        "=" => 3,
        "," => 2,
        _ => 0,
    }
}

fn range(operator: &str) -> Option<Range> {
    match operator {
        ":" => Some(Range::Numbers),
        "::" | ".." => Some(Range::Descent),
        _ => None,
    }
}

/// A tree and its depth.
type Parsed = Result<(Expr, usize), RevsetError>;

fn wrap(expr: Expr, below: usize) -> Parsed {
    if below >= DEEPEST {
        return Err(too_deep());
    }
    Ok((expr, below + 1))
}

fn too_deep() -> RevsetError {
    RevsetError::parse("query is nested too deeply")
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

    fn expect(&mut self, operator: &str) -> Result<(), RevsetError> {
        let (at, token) = self.take();
        if token == Token::End || token.name() != operator {
            let message = format!("unexpected token: {}", token.name());
            return Err(RevsetError::at(at, message));
        }
        Ok(())
    }

    fn is_next(&self, operator: &str) -> bool {
        matches!(&self.peek().1, Token::Operator(next) if *next == operator)
    }

    /// Whether an operand begins here.
    fn operand_follows(&self) -> bool {
        match &self.peek().1 {
            Token::Symbol(_) | Token::Text(_) => true,
            Token::Operator(operator) => {
                matches!(*operator, "(" | "-" | "not" | "!") || range(operator).is_some()
            }
            Token::End => false,
        }
    }

    /// What binds more strongly than `least`; `depth` counts the calls.
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
        let operator = match token {
            Token::Symbol(name) => return Ok((Expr::Symbol(name), 1)),
            Token::Text(text) => return Ok((Expr::Text(text), 1)),
            Token::Operator(operator) => operator,
            Token::End => return Err(RevsetError::at(at, "not a prefix: end")),
        };
        let prefix = |parser: &mut Parser, prefix, strength| {
            let (operand, below) = parser.expression(strength, depth + 1)?;
            wrap(Expr::Prefix(prefix, Box::new(operand)), below)
        };
        match operator {
            "(" => {
                let inner = self.expression(1, depth + 1)?;
                self.expect(")")?;
                Ok(inner)
            }
            "-" => prefix(self, Prefix::Minus, 19),
            "not" | "!" => prefix(self, Prefix::Not, 10),
            _ => match range(operator) {
                Some(range) if self.operand_follows() => {
                    let operator = Token::Operator(operator);
                    prefix(self, Prefix::Upto(range), strength(&operator))
                }
                Some(range) => Ok((Expr::Whole(range), 1)),
                None => Err(RevsetError::at(at, format!("not a prefix: {operator}"))),
            },
        }
    }

    fn operator(&mut self, left: (Expr, usize), depth: usize) -> Parsed {
        let (at, token) = self.take();
        let operator = token.name();
        if operator == "(" {
            return self.call(left.0, at, depth);
        }
        // `x^:y` begins at the parent; a number never begins with a colon.
        let range_follows =
            matches!(&self.peek().1, Token::Operator(next) if range(next).is_some());
        if !self.operand_follows() || (operator == "^" && range_follows) {
            let postfix = match operator {
                "^" => Some(Postfix::Parent),
                "%" => Some(Postfix::Only),
                _ => range(operator).map(Postfix::From),
            };
            if let Some(postfix) = postfix {
                return wrap(Expr::Postfix(postfix, Box::new(left.0)), left.1);
            }
        }
        let infix = match operator {
            "^" => Some(Infix::Parent),
            "~" => Some(Infix::Ancestor),
            "and" | "&" => Some(Infix::And),
            "-" => Some(Infix::Minus),
            "%" => Some(Infix::Only),
            "##" => Some(Infix::Concat),
            "or" | "|" | "+" | "=" | "," => None,
            "[" => {
                let message = "can't use a subscript in this context";
                return Err(RevsetError::parse(message));
            }
            "#" => {
                let message = "can't use a relation in this context";
                return Err(RevsetError::parse(message));
            }
            _ => match range(operator) {
                Some(range) => Some(Infix::Between(range)),
                None => return Err(RevsetError::at(at, format!("not an infix: {operator}"))),
            },
        };
        let (right, right_depth) = self.expression(strength(&token), depth + 1)?;
        self.join(operator, infix, left, (right, right_depth))
    }

    fn join(
        &self,
        operator: &str,
        infix: Option<Infix>,
        (left, left_depth): (Expr, usize),
        (right, right_depth): (Expr, usize),
    ) -> Parsed {
        let below = left_depth.max(right_depth);
        match (infix, operator) {
            (Some(infix), _) => wrap(Expr::Infix(infix, Box::new(left), Box::new(right)), below),
            (None, "=") => wrap(Expr::KeyValue(Box::new(left), Box::new(right)), below),
            (None, ",") => {
                let is_list = matches!(left, Expr::List(_));
                let mut items = match left {
                    Expr::List(items) => items,
                    other => vec![other],
                };
                items.push(right);
                let below = if is_list {
                    below.max(left_depth - 1)
                } else {
                    below
                };
                wrap_flat(Expr::List(items), is_list, left_depth, below)
            }
            (None, _) => {
                let is_or = matches!(left, Expr::Or(_));
                wrap_flat(Expr::or(left, right), is_or, left_depth, below)
            }
        }
    }

    fn call(&mut self, name: Expr, at: usize, depth: usize) -> Parsed {
        let Expr::Symbol(name) = name else {
            return Err(RevsetError::at(at, "not a symbol"));
        };
        if self.is_next(")") {
            self.take();
            return Ok((Expr::Call(name, Vec::new()), 1));
        }
        let (arguments, below) = self.expression(1, depth + 1)?;
        self.expect(")")?;
        let arguments = match arguments {
            Expr::List(arguments) => arguments,
            one => vec![one],
        };
        wrap(Expr::Call(name, arguments), below)
    }
}

/// One more item in a list does not make it deeper, unless the item itself is deeper.
fn wrap_flat(expr: Expr, is_flat: bool, left_depth: usize, below: usize) -> Parsed {
    if is_flat && below <= left_depth {
        return Ok((expr, left_depth));
    }
    wrap(expr, below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::is_plain_symbol;
    use proptest::prelude::*;

    fn printed(query: &str) -> String {
        parse(query.as_bytes(), &|_| false).unwrap().to_string()
    }

    fn error(query: &str) -> (Option<usize>, String) {
        match parse(query.as_bytes(), &|_| false).unwrap_err() {
            RevsetError::Parse { message, at, .. } => (at, message),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn operators_bind_as_in_mercurial() {
        for (query, expected) in [
            ("a or b and not c", "(a or (b and (not c)))"),
            ("a+b|c", "(a or b or c)"),
            ("a - b & c", "((a - b) and c)"),
            ("1^2~3", "((1^2)~3)"),
            ("x^^:y", "(((x^)^):y)"),
            ("x^::y..", "(((x^)::y)::)"),
            (":", "(:)"),
            ("::a:b", "((::a):b)"),
            ("a::", "(a::)"),
            ("-1:0", "((-1):0)"),
            ("f(a, b=c, \"d\")", "f(a, b=c, \"d\")"),
            ("a % b", "(a % b)"),
            ("a%", "(a%)"),
            ("not a:b", "(not (a:b))"),
            ("a ## b:c", "((a ## b):c)"),
        ] {
            assert_eq!(printed(query), expected, "{query}");
        }
    }

    #[test]
    fn errors_are_placed_as_in_mercurial() {
        for (query, at, message) in [
            ("foo(", Some(4), "not a prefix: end"),
            ("0 and", Some(5), "not a prefix: end"),
            ("and", Some(0), "not a prefix: and"),
            ("(0", Some(2), "unexpected token: end"),
            ("0)", Some(1), "invalid token"),
            ("a b", Some(2), "invalid token"),
            ("\"abc", Some(1), "unterminated string"),
            ("", None, "empty query"),
            ("0 ! 1", Some(2), "not an infix: !"),
            ("%", Some(0), "not a prefix: %"),
            ("$x", Some(0), "syntax error in revset '$x'"),
            ("foo[0]", None, "can't use a subscript in this context"),
            ("modifies(a", Some(10), "unexpected token: end"),
        ] {
            assert_eq!(error(query), (at, message.to_owned()), "{query}");
        }
    }

    #[test]
    fn depth_is_bounded_but_alternatives_are_not() {
        for deep in ["(".repeat(100_000), "not ".repeat(100_000), "a^".repeat(9)] {
            let _ = parse(deep.as_bytes(), &|_| false);
        }
        let chain = format!("a{}", "^".repeat(5_000));
        assert_eq!(error(&chain).1, "query is nested too deeply");
        let many = vec!["a"; 5_000].join(" or ");
        assert!(
            matches!(parse(many.as_bytes(), &|_| false), Ok(Expr::Or(all)) if all.len() == 5_000)
        );
    }

    fn tree() -> impl Strategy<Value = Expr> {
        let leaf = prop_oneof![
            "[a-z0-9_.@]{1,4}"
                .prop_filter("a symbol", |text| is_plain_symbol(text.as_bytes()))
                .prop_map(|text| Expr::Symbol(text.into_bytes())),
            proptest::collection::vec(any::<u8>(), 0..4).prop_map(Expr::Text),
            Just(Expr::Whole(Range::Descent)),
        ];
        leaf.prop_recursive(5, 40, 3, |inner| {
            let boxed = inner.clone().prop_map(Box::new);
            let range = prop_oneof![Just(Range::Numbers), Just(Range::Descent)];
            let prefix = prop_oneof![
                Just(Prefix::Not),
                Just(Prefix::Minus),
                range.clone().prop_map(Prefix::Upto)
            ];
            let postfix = prop_oneof![
                Just(Postfix::Parent),
                Just(Postfix::Only),
                range.clone().prop_map(Postfix::From)
            ];
            let infix = prop_oneof![
                Just(Infix::Parent),
                Just(Infix::Ancestor),
                Just(Infix::And),
                Just(Infix::Minus),
                Just(Infix::Only),
                Just(Infix::Concat),
                range.prop_map(Infix::Between)
            ];
            let list = proptest::collection::vec(inner.clone(), 0..3);
            prop_oneof![
                (prefix, boxed.clone()).prop_map(|(o, x)| Expr::Prefix(o, x)),
                (postfix, boxed.clone()).prop_map(|(o, x)| Expr::Postfix(o, x)),
                (infix, boxed.clone(), boxed).prop_map(|(o, x, y)| Expr::Infix(o, x, y)),
                (inner.clone(), inner).prop_map(|(x, y)| Expr::or(x, y)),
                list.prop_map(|items| Expr::Call(b"f".to_vec(), items)),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_printed_is_parsed_to_the_same_tree(tree in tree()) {
            let printed = tree.to_string();
            prop_assert_eq!(parse(printed.as_bytes(), &|_| false).unwrap(), tree, "{}", printed);
        }
    }
}
