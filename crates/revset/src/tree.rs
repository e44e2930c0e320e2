//! The syntax tree of a query.

use std::fmt;

/// One node of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A bare word: a changeset's name, or an argument.
    Symbol(Vec<u8>),
    /// `()`, an argument that no function takes.
    Empty,
    /// A word in quotation marks.
    Text(Vec<u8>),
    /// A function with its arguments.
    Call(Vec<u8>, Vec<Expr>),
    /// Several expressions between commas where one belongs.
    List(Vec<Expr>),
    /// `name=value`, an argument.
    KeyValue(Box<Expr>, Box<Expr>),
    /// `:` or `::` alone.
    Whole(RangeKind),
    /// A prefix operator.
    Prefix(Prefix, Box<Expr>),
    /// A postfix operator.
    Postfix(Postfix, Box<Expr>),
    /// An infix operator.
    Infix(Infix, Box<Expr>, Box<Expr>),
    /// Alternatives; at least two, and the first is none of this kind.
    Or(Vec<Expr>),
}

/// The two kinds of ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeKind {
    /// `:`.
    Numbers,
    /// `::` or `..`.
    Descent,
}

/// Operators before one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// `:x` or `::x`.
    Upto(RangeKind),
    /// `not x` or `!x`.
    Not,
    /// `-x`.
    Minus,
}

/// Operators behind one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Postfix {
    /// `x:` or `x::`.
    From(RangeKind),
    /// `x^`.
    Parent,
    /// `x%`.
    Only,
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Infix {
    /// `x:y` or `x::y`.
    Between(RangeKind),
    /// `x^n`.
    Parent,
    /// `x~n`.
    Ancestor,
    /// `x and y` or `x & y`.
    And,
    /// `x - y`.
    Minus,
    /// `x % y`.
    Only,
}

impl Expr {
    /// Alternatives without alternatives at their beginning.
    pub fn or(left: Expr, right: Expr) -> Expr {
        match left {
            Expr::Or(mut all) => {
                all.push(right);
                Expr::Or(all)
            }
            other => Expr::Or(vec![other, right]),
        }
    }
}

impl fmt::Display for RangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RangeKind::Numbers => ":",
            RangeKind::Descent => "::",
        })
    }
}

/// Prints with all parentheses; the text is parsed to the same tree.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Symbol(name) => f.write_str(&String::from_utf8_lossy(name)),
            Expr::Empty => f.write_str("()"),
            Expr::Text(text) => write_quoted(text, f),
            Expr::Call(name, arguments) => {
                write!(f, "{}(", String::from_utf8_lossy(name))?;
                write_list(arguments, ", ", f)?;
                f.write_str(")")
            }
            Expr::List(items) => write_list(items, ", ", f),
            Expr::KeyValue(key, value) => write!(f, "{key}={value}"),
            Expr::Whole(range) => write!(f, "({range})"),
            Expr::Prefix(Prefix::Upto(range), operand) => write!(f, "({range}{operand})"),
            Expr::Prefix(Prefix::Not, operand) => write!(f, "(not {operand})"),
            Expr::Prefix(Prefix::Minus, operand) => write!(f, "(-{operand})"),
            Expr::Postfix(Postfix::From(range), operand) => write!(f, "({operand}{range})"),
            Expr::Postfix(Postfix::Parent, operand) => write!(f, "({operand}^)"),
            Expr::Postfix(Postfix::Only, operand) => write!(f, "({operand}%)"),
            Expr::Infix(operator, left, right) => {
                let operator = match operator {
                    Infix::Between(RangeKind::Numbers) => ":",
                    Infix::Between(RangeKind::Descent) => "::",
                    Infix::Parent => "^",
                    Infix::Ancestor => "~",
                    Infix::And => " and ",
                    Infix::Minus => " - ",
                    Infix::Only => " % ",
                };
                write!(f, "({left}{operator}{right})")
            }
            Expr::Or(all) => {
                f.write_str("(")?;
                write_list(all, " or ", f)?;
                f.write_str(")")
            }
        }
    }
}

fn write_list(items: &[Expr], between: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            f.write_str(between)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

fn write_quoted(text: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for byte in text {
        match byte {
            b' '..=b'~' if !matches!(byte, b'"' | b'\\') => write!(f, "{}", char::from(*byte))?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_str("\"")
}
