//! Tokens and operator precedence, shared by revsets, filesets and templates.
//!
//! A language is a [`Grammar`]: a table of operators, a source of tokens and constructors of tree
//! nodes. [`parse`] builds the tree. Tokens are read one ahead of the parser and no further, so
//! that of several errors in a text the first is reported, as in Mercurial.

mod cursor;
mod escape;
mod parser;

pub use cursor::Cursor;
pub use escape::unescape;
pub use parser::{Grammar, Operator, Token, Tree, parse, parse_all};

/// An error in the text of an expression, in Mercurial's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// The error.
    pub message: String,
    /// Position in the text in bytes; `None` if the error concerns the text as a whole.
    pub at: Option<usize>,
    /// Advice for the user.
    pub hint: Option<String>,
}

impl SyntaxError {
    /// An error of the text as a whole.
    pub fn new(message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            message: message.into(),
            at: None,
            hint: None,
        }
    }

    /// An error at a position.
    pub fn at(at: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            at: Some(at),
            ..SyntaxError::new(message)
        }
    }

    /// The same error with advice.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> SyntaxError {
        SyntaxError {
            hint: Some(hint.into()),
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
