//! CouchDB's files of databases, read without CouchDB.
//!
//! A file only grows, and its newest whole header says where everything is, so a file that CouchDB writes to meanwhile
//! is read as it was when it was opened. Nothing is believed that a file says of sizes, and nothing in it makes the
//! reader recurse.

mod blocks;
mod compressed;
mod content;
mod damage;
mod document;
mod header;
mod json;
mod term;
mod tree;

pub use compressed::TermForm;
pub use content::{AttachmentInfo, Content};
pub use damage::{Damage, Malformed};
pub use document::{ContentInfo, DocumentInfo, RevisionInfo};
pub use header::{Header, NoHeader};

pub(crate) use content::{ContentReader, StreamReader};
pub(crate) use tree::{Lost, Met, Walk};

use blocks::BlockReader;
use header::Purges;
use std::path::{Path, PathBuf};
use term::TermReader;
use varve_base::{Interrupt, OpenMode, Storage, StorageError};
use varve_docdb::{Digest, Purge, Rev};

/// One file, as its newest header shows it.
#[derive(Clone, Debug)]
pub struct CouchFile {
    path: PathBuf,
    reader: BlockReader,
    header: Header,
}

/// Why a file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The file has no header that can be used.
    #[error("{path} {}", described(.reason), path = path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: NoHeader,
    },
}

fn described(reason: &NoHeader) -> String {
    match reason {
        NoHeader::None => "is no file of a CouchDB database: it has no whole header".to_owned(),
        NoHeader::Version(version) => format!(
            "has version {version} of CouchDB's format, and 6, 7 and 8 are read; a CouchDB that opens it and compacts it \
             writes a newer version"
        ),
        NoHeader::Damaged(damage) => format!("has a header that does not decode: {damage}"),
        NoHeader::Interrupted => "was not searched to its end".to_owned(),
    }
}

/// A local document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalInfo {
    /// With `_local/`.
    pub(crate) id: String,
    /// The number behind `0-`.
    pub(crate) rev: u64,
    /// JSON text.
    pub(crate) body: Vec<u8>,
}

impl CouchFile {
    /// Opens a file, and finds its newest whole header.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(
        storage: &dyn Storage,
        path: &Path,
        stop: &Interrupt,
    ) -> Result<CouchFile, OpenError> {
        let file = storage.open(path, OpenMode::Read)?;
        let len = file.len()?;
        let mut reader = BlockReader::new(file, len);
        match header::newest(&mut reader, stop) {
            Ok(header) => Ok(CouchFile {
                path: path.to_owned(),
                reader,
                header,
            }),
            Err(reason) => Err(OpenError::NoHeader {
                path: path.to_owned(),
                reason,
            }),
        }
    }

    /// Path that it was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its newest header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Length when it was opened, in bytes.
    pub fn len(&self) -> u64 {
        self.reader.len()
    }

    /// Whether it has no bytes; never so for one that was opened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many documents its header speaks of, deleted ones too.
    pub fn documents(&self) -> u64 {
        let counts = [self.header.by_seq, self.header.by_id];
        let counts = counts.into_iter().flatten();
        counts.filter_map(|root| root.documents).max().unwrap_or(0)
    }

    /// Documents in the order of their sequences.
    pub(crate) fn by_seq(&self) -> Walk<DocumentInfo> {
        let root = self.header.by_seq;
        Walk::new(self.reader.clone(), root, DocumentInfo::by_seq)
    }

    /// Documents in the order of their ids.
    pub(crate) fn by_id(&self) -> Walk<DocumentInfo> {
        Walk::new(self.reader.clone(), self.header.by_id, DocumentInfo::by_id)
    }

    /// Local documents in the order of their ids.
    pub(crate) fn locals(&self) -> Walk<LocalInfo> {
        Walk::new(self.reader.clone(), self.header.local, local)
    }

    /// Reads contents of revisions.
    pub(crate) fn contents(&self) -> ContentReader {
        ContentReader::new(self.reader.clone())
    }

    /// Reads the stored form of an attachment.
    pub(crate) fn stream(&self, attachment: &AttachmentInfo) -> StreamReader {
        StreamReader::new(self.reader.clone(), attachment)
    }

    /// JSON text of the security object, if there is one.
    pub(crate) fn security(&self) -> Result<Option<Vec<u8>>, Damage> {
        let at = self.header.security;
        at.map(|at| self.contents().object(at)).transpose()
    }

    /// Whether documents belong to partitions.
    pub(crate) fn is_partitioned(&self) -> Result<bool, Damage> {
        let Some(at) = self.header.properties else {
            return Ok(false);
        };
        self.contents().term(at, |reader| {
            let mut found = false;
            for _ in 0..reader.items()? {
                reader.tuple_of(2)?;
                match reader.is_atom() && reader.atom()? == b"partitioned" {
                    true => found = reader.is_atom() && reader.atom()? == b"true",
                    false => reader.skip()?,
                }
            }
            Ok(found)
        })
    }

    /// The purges that are remembered, the number of the last one, and what cannot be read of them.
    pub(crate) fn purges(&self) -> (Vec<Purge>, u64, Vec<Damage>) {
        let (mut purges, mut damages) = (Vec::new(), Vec::new());
        match self.header.purges {
            Purges::Last(last, None) => return (purges, last, damages),
            Purges::Last(last, Some(at)) => {
                match self.contents().term(at, |reader| last_purge(reader, last)) {
                    Ok(all) => purges = all,
                    Err(damage) => damages.push(damage),
                }
                return (purges, last, damages);
            }
            Purges::Tree(root) => {
                for met in Walk::new(self.reader.clone(), root, purge) {
                    match met {
                        Met::Item(purge) => purges.push(purge),
                        Met::Lost(lost) => damages.push(lost.damage),
                    }
                }
            }
        }
        let last = purges.last().map_or(0, |purge| purge.seq);
        (purges, last, damages)
    }
}

/// `{id, {rev, body}}`.
fn local(reader: &mut TermReader<'_>) -> Result<LocalInfo, Malformed> {
    reader.tuple_of(2)?;
    let id = reader.text()?.to_owned();
    reader.tuple_of(2)?;
    let rev = match reader.peek()? {
        term::tag::BINARY => reader.text()?.parse().unwrap_or(0),
        _ => reader.unsigned()?,
    };
    let mut body = Vec::new();
    match reader.peek()? {
        term::tag::BINARY => {
            let mut room = Vec::new();
            let (term, _) = compressed::expand(reader.binary()?, &mut room)?;
            json::object(&mut TermReader::new(term)?, &mut body)?;
        }
        _ => json::object(reader, &mut body)?,
    }
    Ok(LocalInfo { id, rev, body })
}

/// `{seq, {uuid, id, [{generation, digest}]}}`.
fn purge(reader: &mut TermReader<'_>) -> Result<Purge, Malformed> {
    reader.tuple_of(2)?;
    let seq = reader.unsigned()?;
    reader.tuple_of(3)?;
    reader.skip()?;
    let id = reader.text()?.to_owned();
    let revs = revs(reader)?;
    Ok(Purge { seq, id, revs })
}

fn revs(reader: &mut TermReader<'_>) -> Result<Vec<Rev>, Malformed> {
    let mut revs = Vec::new();
    let count = reader.items()?;
    for _ in 0..count {
        reader.tuple_of(2)?;
        revs.push(Rev {
            generation: reader.unsigned()?,
            digest: Digest::from_bytes(reader.binary()?),
        });
    }
    if count > 0 {
        reader.end_list()?;
    }
    Ok(revs)
}

/// `[{id, [{generation, digest}]}]`.
fn last_purge(reader: &mut TermReader<'_>, last: u64) -> Result<Vec<Purge>, Malformed> {
    let mut purges = Vec::new();
    for _ in 0..reader.items()? {
        reader.tuple_of(2)?;
        let id = reader.text()?.to_owned();
        let revs = revs(reader)?;
        purges.push(Purge {
            seq: last,
            id,
            revs,
        });
    }
    Ok(purges)
}

/// Passes over a term that stands alone, if it is one.
pub(crate) fn skip_term(term: &[u8]) {
    let mut room = Vec::new();
    if let Ok((term, _)) = compressed::expand(term, &mut room)
        && let Ok(mut reader) = TermReader::new(term)
    {
        let _ = reader.skip();
    }
}

/// Reads a header's term.
pub(crate) fn decode_header(term: &[u8]) -> Option<Header> {
    header::decode(term, 0).ok()
}

/// Reads a chunk with a body and its attachments.
pub(crate) fn content(chunk: &[u8]) -> Option<Content> {
    content::content(chunk, &mut Vec::new()).ok()
}
