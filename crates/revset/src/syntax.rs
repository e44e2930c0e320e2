//! The tree of a query as it is written, with groups and aliases; printed as Mercurial prints it.

use std::fmt::{self, Write};

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// A bare word.
    Symbol(Vec<u8>),
    /// A word in quotation marks.
    Text(Vec<u8>),
    /// The name of an operator, a function call, a list or a group, and its operands.
    Node(&'static str, Vec<Syntax>),
    /// A missing operand, as in `:` or `f()`.
    Absent,
}

impl Syntax {
    /// A list of operands of `name`, which grows if `left` is such a list already.
    pub(crate) fn chained(name: &'static str, left: Syntax, right: Syntax) -> Syntax {
        match left {
            Syntax::Node(chain, mut operands) if chain == name => {
                operands.push(right);
                Syntax::Node(name, operands)
            }
            other => Syntax::Node(name, vec![other, right]),
        }
    }

    /// The name of its kind, for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Syntax::Symbol(_) => "symbol",
            Syntax::Text(_) => "string",
            Syntax::Node(name, _) => name,
            Syntax::Absent => "None",
        }
    }

    fn write(&self, indent: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = |f: &mut fmt::Formatter<'_>| write!(f, "{:indent$}", "");
        begin(f)?;
        match self {
            Syntax::Absent => f.write_str("None"),
            Syntax::Symbol(text) | Syntax::Text(text) => {
                write!(f, "({} '", self.name())?;
                write_escaped(text, f)?;
                f.write_str("')")
            }
            // Alternatives are one list.
            Syntax::Node("or", operands) => {
                write!(f, "(or\n{:1$}(list", "", indent + 2)?;
                write_operands(operands, indent + 4, f)?;
                f.write_str("))")
            }
            Syntax::Node(name, operands) => {
                write!(f, "({name}")?;
                write_operands(operands, indent + 2, f)?;
                f.write_str(")")
            }
        }
    }
}

fn write_operands(operands: &[Syntax], indent: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for operand in operands {
        f.write_char('\n')?;
        operand.write(indent, f)?;
    }
    Ok(())
}

/// Bytes as Python escapes them.
fn write_escaped(text: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for byte in text {
        match byte {
            b'\\' => f.write_str("\\\\")?,
            b'\'' => f.write_str("\\'")?,
            b'\n' => f.write_str("\\n")?,
            b'\r' => f.write_str("\\r")?,
            b'\t' => f.write_str("\\t")?,
            b' '..=b'~' => f.write_char(char::from(*byte))?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}
