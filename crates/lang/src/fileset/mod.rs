//! The grammar of filesets, `set:modified() and **.c`, as `hg help filesets` describes them.
//! Evaluation needs the files of a repository and is not here.

mod parse;
mod token;

pub use parse::{Expr, parse};

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

    /// An error at a position.
    fn at(at: usize, message: impl Into<String>) -> FilesetError {
        FilesetError {
            at: Some(at),
            ..FilesetError::new(message)
        }
    }
}
