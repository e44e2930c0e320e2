//! Reading attachments, and edits that change only them.

use super::Snapshot;
use crate::edit::{Edit, IncomingAttachment};
use crate::{Attachment, DocdbError, EditError, Rev};
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
use std::ops::Range;
use varve_json::Document;

/// In which form an attachment is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As clients see it.
    Plain,
    /// As it is stored: gzip if [`Attachment::is_gzip`].
    Stored,
}

/// Bytes of a chunk before its content.
const CHUNK_HEAD: u64 = 13;
/// Bytes that are handed out at once.
const SHARE: usize = 64 << 10;

/// Reads the stored form piece by piece.
struct Pieces<'a> {
    snapshot: &'a Snapshot,
    attachment: &'a Attachment,
    next: usize,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let Some(chunk) = self.attachment.chunks.get(self.next) else {
                return Ok(0);
            };
            self.piece.clear();
            self.at = 0;
            self.next += 1;
            let read = self.snapshot.tree.read_chunk(*chunk, &mut self.piece);
            read.map_err(|error| io::Error::other(DocdbError::from(error)))?;
        }
        let rest = &self.piece[self.at..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

impl Pieces<'_> {
    /// Leaves pieces out that lie before byte `start`; returns how many bytes that were.
    fn skip_to(&mut self, start: u64) -> u64 {
        let mut skipped = 0;
        for chunk in &self.attachment.chunks {
            // Pieces are stored as they are, behind a chunk's head.
            let behind = skipped + u64::from(chunk.len).saturating_sub(CHUNK_HEAD);
            if behind > start {
                break;
            }
            skipped = behind;
            self.next += 1;
        }
        skipped
    }
}

impl Snapshot {
    /// Calls `visit` with the bytes of an attachment that lie in `range`, in order, some at a time.
    ///
    /// # Errors
    /// Damage; an error of `visit` ends it.
    pub fn read_attachment<E: From<DocdbError>>(
        &self,
        attachment: &Attachment,
        form: Form,
        range: Range<u64>,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pieces = Pieces {
            snapshot: self,
            attachment,
            next: 0,
            piece: Vec::new(),
            at: 0,
        };
        let mut at = 0;
        let mut reader: Box<dyn Read + '_> = match form {
            Form::Plain if attachment.is_gzip => Box::new(MultiGzDecoder::new(pieces)),
            _ => {
                at = pieces.skip_to(range.start);
                Box::new(pieces)
            }
        };
        let mut share = vec![0; SHARE];
        while at < range.end {
            let wanted = usize::try_from(range.end - at).map_or(SHARE, |left| left.min(SHARE));
            let got = reader.read(&mut share[..wanted]);
            let got = got.map_err(|error| self.unreadable(error, attachment))?;
            if got == 0 {
                return Err(self.damaged("data", attachment.name.as_bytes()).into());
            }
            let before = usize::try_from(range.start.saturating_sub(at)).unwrap_or(got);
            if before < got {
                visit(&share[before..got])?;
            }
            at += got as u64;
        }
        Ok(())
    }

    fn unreadable(&self, error: io::Error, attachment: &Attachment) -> DocdbError {
        match error.downcast() {
            Ok(error) => error,
            Err(_) => self.damaged("gzip data", attachment.name.as_bytes()),
        }
    }

    /// Appends an attachment as clients see it.
    ///
    /// # Errors
    /// Damage.
    pub fn attachment_data(
        &self,
        attachment: &Attachment,
        out: &mut Vec<u8>,
    ) -> Result<(), DocdbError> {
        let all = 0..attachment.length;
        self.read_attachment(attachment, Form::Plain, all, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// An edit that repeats a revision with its attachments, to be changed; without `rev` one that
    /// makes the document.
    ///
    /// # Errors
    /// Damage. `Ok(Err(_))` for a revision that is not there or an id that cannot be.
    pub fn continued(
        &self,
        id: &str,
        rev: Option<&Rev>,
    ) -> Result<Result<Edit, EditError>, DocdbError> {
        let mut edit = match Edit::new(Some(id), varve_json::Object::new()) {
            Ok(edit) => edit,
            Err(error) => return Ok(Err(error)),
        };
        let document = self.document(id)?;
        let Some(rev) = rev else {
            let is_live = document.is_some_and(|found| !found.is_deleted());
            return Ok(if is_live {
                Err(EditError::Conflict)
            } else {
                Ok(edit)
            });
        };
        let found = document
            .as_ref()
            .and_then(|document| document.revision(rev));
        let Some((rev, stored)) = found else {
            return Ok(Err(EditError::Conflict));
        };
        let mut text = Vec::new();
        self.body(stored, &mut text)?;
        let read = Document::parse(&text, |_| false);
        let read = read.map_err(|source| DocdbError::Body {
            path: self.shared.path.clone(),
            id: edit.id.clone(),
            source,
        })?;
        edit.body = read.body;
        edit.revs = vec![rev.clone()];
        let kept = self.attachments(stored)?.into_iter();
        edit.attachments = kept
            .map(|record| IncomingAttachment::kept(record, self))
            .collect();
        Ok(Ok(edit))
    }
}
