//! Documents as they are handed to a load.

use crate::Rev;
use std::io::Read;

/// One document with all of its revisions.
#[derive(Debug)]
pub struct LoadedDocument {
    /// Its id.
    pub id: String,
    /// Its update sequence, above that of the document before it.
    pub seq: u64,
    /// Its revisions in any order; leaves have content.
    pub revisions: Vec<LoadedRevision>,
}

/// One revision of a document.
#[derive(Debug)]
pub struct LoadedRevision {
    /// Its id.
    pub rev: Rev,
    /// Index of its parent among the document's revisions.
    pub parent: Option<usize>,
    /// Its content, if that is known.
    pub content: Option<LoadedContent>,
}

/// Content of a revision.
#[derive(Debug)]
pub struct LoadedContent {
    /// Whether it deletes the document.
    pub deleted: bool,
    /// JSON text of an object, as [`varve_json`] writes it, without the members that begin with `_`; in a database with
    /// access as [`crate::text_with_access`] makes it, where the revision names its readers.
    pub body: Vec<u8>,
    /// Its attachments in the order in which they are listed.
    pub attachments: Vec<LoadedAttachment>,
}

/// One attachment of a revision.
pub struct LoadedAttachment {
    /// Its name.
    pub name: String,
    /// MIME type.
    pub content_type: String,
    /// Generation of the revision that brought it.
    pub revpos: u64,
    /// Whether the data is gzip; it is stored as it comes in either case.
    pub is_gzip: bool,
    /// MD5 that the data must have, if that is known.
    pub md5: Option<[u8; 16]>,
    /// The data. An error leaves the attachment out, and is reported.
    pub data: Box<dyn Read + Send>,
}

impl std::fmt::Debug for LoadedAttachment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LoadedAttachment({:?})", self.name)
    }
}

/// Part of a document that a load has left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The document.
    pub id: String,
    /// The revision; `None` for the whole document.
    pub rev: Option<Rev>,
    /// The attachment; `None` for the whole revision or document.
    pub attachment: Option<String>,
    /// The reason, without a full stop.
    pub reason: String,
}
