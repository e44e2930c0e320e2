//! Parts of databases that a move has left out.

use std::fmt;
use std::path::{Path, PathBuf};
use varve_docdb::LeftOut;

/// A part that could not be moved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file that it is in; `None` if it is in none.
    pub file: Option<PathBuf>,
    /// Position in the file, in bytes.
    pub offset: Option<u64>,
    /// The part, and the reason.
    pub what: String,
}

impl Finding {
    pub(crate) fn in_file(file: &Path, offset: Option<u64>, what: impl Into<String>) -> Finding {
        Finding {
            file: Some(file.to_owned()),
            offset,
            what: what.into(),
        }
    }

    /// A part that is in no file.
    pub fn of(what: impl Into<String>) -> Finding {
        Finding {
            file: None,
            offset: None,
            what: what.into(),
        }
    }
}

impl Finding {
    /// A part of a document that the new database does not have.
    pub(crate) fn left_out(database: &str, part: LeftOut) -> Finding {
        let LeftOut {
            id,
            rev,
            attachment,
            reason,
        } = part;
        let rev = rev.map(|rev| format!(" {rev}")).unwrap_or_default();
        let whole = format!("{id:?}{rev}");
        Finding::of(match attachment {
            Some(name) => {
                format!("{database}: the attachment {name:?} of {whole} is left out: {reason}")
            }
            None => format!("{database}: {whole} is left out: {reason}"),
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        if let Some(offset) = self.offset {
            write!(f, "byte {offset}: ")?;
        }
        f.write_str(&self.what)
    }
}
