//! The grammar of filesets, `set:modified() and **.c`, as `hg help filesets` describes them.
//! Evaluation needs the files of a repository and is not here.

mod grammar;

pub use grammar::parse;

use crate::expression::SyntaxError;

/// An error in a fileset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FilesetError {
    /// The error in Mercurial's words.
    pub message: String,
    /// Position in the fileset in bytes.
    pub at: Option<usize>,
    /// Advice for the user.
    pub hint: Option<String>,
}

impl FilesetError {
    /// An error of the fileset as a whole.
    pub fn new(message: impl Into<String>) -> FilesetError {
        FilesetError {
            message: message.into(),
            at: None,
            hint: None,
        }
    }
}

impl From<SyntaxError> for FilesetError {
    fn from(SyntaxError { message, at, hint }: SyntaxError) -> FilesetError {
        FilesetError { message, at, hint }
    }
}

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
    /// Files that do not match.
    Not(Box<Expr>),
    /// Files that match both.
    And(Box<Expr>, Box<Expr>),
    /// Files that match the first and not the second.
    Minus(Box<Expr>, Box<Expr>),
    /// Files that match any.
    Or(Vec<Expr>),
    /// `x, y`, which only calls take.
    List(Vec<Expr>),
    /// `-x`, which nothing takes.
    Negative,
}
