//! Damage found in a database file, and the documents it hits.

use crate::Rev;
use std::fmt;
use varve_btree::TreeError;

/// Kind of the damaged part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The first bytes of the file.
    FileHeader,
    /// The newest commit.
    Commit,
    /// The user header in the newest commit, which describes the database as a whole.
    Header,
    /// A compression dictionary that documents' chunks are compressed with.
    Dictionary,
    /// The security object.
    Security,
    /// A node of the tree of documents by id.
    NodeById,
    /// A node of the tree of documents by update sequence.
    NodeBySeq,
    /// A node of the tree of local documents.
    NodeOfLocal,
    /// A node of the tree of purges.
    NodeOfPurges,
    /// A node of the tree of access.
    NodeOfAccess,
    /// Rows of the tree of access, which say who may see a document.
    Access,
    /// A document with its revision tree.
    Document,
    /// Old revisions of a document, in a chunk of their own.
    History,
    /// A document's entry in the feed of changes.
    Change,
    /// A revision's body.
    Body,
    /// The list of a revision's attachments.
    AttachmentList,
    /// The data of an attachment.
    Attachment,
    /// A document whose id begins with `_local/`.
    LocalDocument,
    /// A purge, or how many are remembered.
    Purge,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::FileHeader => "file header",
            Part::Commit => "newest commit",
            Part::Header => "header",
            Part::Dictionary => "dictionary",
            Part::Security => "security object",
            Part::NodeById => "node by id",
            Part::NodeBySeq => "node by sequence",
            Part::NodeOfLocal => "node of local documents",
            Part::NodeOfPurges => "node of purges",
            Part::NodeOfAccess => "node of access",
            Part::Access => "access",
            Part::Document => "document",
            Part::History => "history",
            Part::Change => "change",
            Part::Body => "body",
            Part::AttachmentList => "list of attachments",
            Part::Attachment => "attachment",
            Part::LocalDocument => "local document",
            Part::Purge => "purge",
        })
    }
}

/// The documents that damage hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// No document, or all.
    Database,
    /// One of these: a dictionary, a purge.
    Number(u64),
    /// One document.
    Document {
        /// Its id; a local one's begins with `_local/`.
        id: String,
        /// Which revision, if it is about one.
        rev: Option<Rev>,
        /// Which attachment, if it is about one.
        attachment: Option<String>,
    },
    /// All documents from one id on and before another.
    Ids {
        /// The first id that there may be; `None` for the first of all.
        from: Option<String>,
        /// The id behind them; `None` if there is none.
        before: Option<String>,
        /// How many there are.
        count: u64,
    },
    /// All updates, or purges, from one sequence on and before another.
    Sequences {
        /// The first that there may be; `None` for the first of all.
        from: Option<u64>,
        /// The one behind them; `None` if there is none.
        before: Option<u64>,
        /// How many there are.
        count: u64,
    },
}

impl Hit {
    /// A document as a whole.
    pub(crate) fn document(id: &str) -> Hit {
        Hit::Document {
            id: id.to_owned(),
            rev: None,
            attachment: None,
        }
    }

    /// One attachment of a revision.
    pub(crate) fn attachment(id: &str, rev: &Rev, name: &str) -> Hit {
        Hit::Document {
            id: id.to_owned(),
            rev: Some(rev.clone()),
            attachment: Some(name.to_owned()),
        }
    }

    /// One revision.
    pub(crate) fn revision(id: &str, rev: &Rev) -> Hit {
        Hit::Document {
            id: id.to_owned(),
            rev: Some(rev.clone()),
            attachment: None,
        }
    }
}

/// A run of keys, and how many things are in it.
fn write_run<T: fmt::Debug>(
    f: &mut fmt::Formatter<'_>,
    (from, before): (&Option<T>, &Option<T>),
    count: u64,
) -> fmt::Result {
    if let Some(from) = from {
        write!(f, " from {from:?}")?;
    }
    if let Some(before) = before {
        write!(f, " before {before:?}")?;
    }
    write!(f, " ({count})")
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hit::Database => Ok(()),
            Hit::Number(number) => write!(f, " {number}"),
            Hit::Document {
                id,
                rev,
                attachment,
            } => {
                if let Some(name) = attachment {
                    write!(f, " {name:?} of")?;
                }
                write!(f, " {id:?}")?;
                match rev {
                    Some(rev) => write!(f, " {rev}"),
                    None => Ok(()),
                }
            }
            Hit::Ids {
                from,
                before,
                count,
            } => {
                f.write_str(", documents")?;
                write_run(f, (from, before), *count)
            }
            Hit::Sequences {
                from,
                before,
                count,
            } => {
                f.write_str(", sequences")?;
                write_run(f, (from, before), *count)
            }
        }
    }
}

/// One thing that is wrong. `Display` is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the damaged part.
    pub part: Part,
    /// Where in the file it begins, if it has one place.
    pub offset: Option<u64>,
    /// The documents that the damage hits.
    pub hit: Hit,
    /// Description of the damage.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.part, self.hit)?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Why something cannot be read, without the path, and where that is.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) offset: Option<u64>,
    pub(crate) reason: String,
}

impl Trouble {
    pub(crate) fn new(offset: Option<u64>, reason: impl Into<String>) -> Self {
        Trouble {
            offset,
            reason: reason.into(),
        }
    }

    /// An error about the chunk at `offset`, or about one that it needs.
    pub(crate) fn of(error: &TreeError, offset: u64) -> Self {
        let reason = match error {
            TreeError::Damaged { reason, .. } => (*reason).to_owned(),
            TreeError::Expand { source, .. } => format!("it does not expand: {source}"),
            other => other.to_string(),
        };
        Trouble::new(Some(error.offset().unwrap_or(offset)), reason)
    }

    /// Whether bytes at `offset` are the text of a JSON object.
    pub(crate) fn of_json(text: &[u8], offset: Option<u64>) -> Result<(), Trouble> {
        match varve_json::parse_object(text) {
            Ok(_) => Ok(()),
            Err(error) => {
                let reason = format!("it is no JSON object: {error}");
                Err(Trouble::new(offset, reason))
            }
        }
    }

    pub(crate) fn finding(self, part: Part, hit: Hit) -> Finding {
        Finding {
            part,
            offset: self.offset,
            hit,
            reason: self.reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_one_line_each() {
        let line = |part, hit| Trouble::new(Some(64), "why").finding(part, hit).to_string();
        let rev: Rev = "2-967a00dff5e02add41819138abb3284d".parse().unwrap();
        let body = line(Part::Body, Hit::revision("a\nb", &rev));
        let expected = r#"body "a\nb" 2-967a00dff5e02add41819138abb3284d at byte 64: why"#;
        assert_eq!(body, expected);
        let attachment = Hit::Document {
            id: "d".into(),
            rev: None,
            attachment: Some("x/y".into()),
        };
        let expected = r#"attachment "x/y" of "d" at byte 64: why"#;
        assert_eq!(line(Part::Attachment, attachment), expected);
        let ids = Hit::Ids {
            from: Some("k".into()),
            before: None,
            count: 7,
        };
        let expected = r#"node by id, documents from "k" (7) at byte 64: why"#;
        assert_eq!(line(Part::NodeById, ids), expected);
        let sequences = Hit::Sequences {
            from: Some(5),
            before: Some(9),
            count: 3,
        };
        let expected = "node by sequence, sequences from 5 before 9 (3) at byte 64: why";
        assert_eq!(line(Part::NodeBySeq, sequences), expected);
        let commit = Trouble::new(None, "why").finding(Part::Commit, Hit::Database);
        assert_eq!(commit.to_string(), "newest commit: why");
    }
}
