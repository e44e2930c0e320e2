//! Reading attachments, and edits that change only them.

use super::Snapshot;
use crate::access::MEMBER;
use crate::edit::{Edit, IncomingAttachment};
use crate::{Attachment, DocdbError, EditError, Rev};
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
use std::ops::Range;
use varve_json::Document;

/// In which form an attachment is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachmentForm {
    /// As clients see it.
    Plain,
    /// As it is stored: gzip if [`Attachment::is_gzip`].
    Stored,
}

/// Bytes of a chunk before its content.
const CHUNK_HEAD: u64 = 13;
/// Bytes that are handed out at once.
const SHARE: usize = 64 << 10;

/// Reads the stored form chunk by chunk.
#[derive(Debug)]
struct StoredBytes<'a> {
    snapshot: &'a Snapshot,
    attachment: &'a Attachment,
    /// Index of the chunk that is read.
    chunk: usize,
    /// Bytes of that chunk that were handed out.
    at: usize,
    /// Its content; empty if it has to be read.
    content: Vec<u8>,
}

impl StoredBytes<'_> {
    /// The unread rest of the present chunk; empty at the end.
    fn rest(&mut self) -> Result<&[u8], DocdbError> {
        while let Some(chunk) = self.attachment.chunks.get(self.chunk) {
            if self.content.is_empty() {
                let read = self.snapshot.tree.read_chunk(*chunk, &mut self.content);
                read.map_err(DocdbError::from)?;
            }
            if self.at < self.content.len() {
                break;
            }
            self.chunk += 1;
            self.at = 0;
            self.content.clear();
        }
        Ok(self.content.get(self.at..).unwrap_or_default())
    }

    fn release(&mut self) {
        if !self.content.is_empty() && self.at == self.content.len() {
            self.chunk += 1;
            self.at = 0;
        }
        self.content = Vec::new();
    }

    /// Leaves chunks out that lie before byte `start`; returns how many bytes that were.
    fn skip_to(&mut self, start: u64) -> u64 {
        let mut skipped = 0;
        for chunk in &self.attachment.chunks {
            // Pieces are stored as they are, behind a chunk's head.
            let behind = skipped + u64::from(chunk.len).saturating_sub(CHUNK_HEAD);
            if behind > start {
                break;
            }
            skipped = behind;
            self.chunk += 1;
        }
        skipped
    }
}

impl Read for StoredBytes<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = self.rest().map_err(io::Error::other)?;
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

/// Reads a range of an attachment in order, some bytes at a time.
#[derive(Debug)]
pub struct AttachmentReader<'a> {
    form: Reading<'a>,
    /// Bytes of the form that were read or passed over.
    at: u64,
    range: Range<u64>,
}

#[derive(Debug)]
enum Reading<'a> {
    Stored(StoredBytes<'a>),
    Unzipped(Box<MultiGzDecoder<StoredBytes<'a>>>),
}

impl AttachmentReader<'_> {
    /// Appends at most `most` bytes to `out`, and as many if that is not the end. Returns whether there is more.
    ///
    /// # Errors
    /// Damage.
    pub fn read(&mut self, out: &mut Vec<u8>, most: usize) -> Result<bool, DocdbError> {
        let mut room = most;
        let mut passed_over = Vec::new();
        while self.at < self.range.end && room > 0 {
            let before = self.range.start.saturating_sub(self.at);
            let (to, wanted) = match before {
                0 => (&mut *out, self.range.end - self.at),
                before => (&mut passed_over, before),
            };
            let wanted = usize::try_from(wanted).map_or(SHARE, |wanted| wanted.min(SHARE));
            let wanted = wanted.min(room);
            let got = self.append(to, wanted)?;
            if before == 0 {
                room -= got;
            }
            passed_over.clear();
            self.at += got as u64;
        }
        Ok(self.at < self.range.end)
    }

    /// Frees the chunk at hand. It is read again, and checked again, when more of it is wanted.
    pub fn release(&mut self) {
        match &mut self.form {
            Reading::Stored(stored) => stored.release(),
            Reading::Unzipped(decoder) => decoder.get_mut().release(),
        }
    }

    /// Appends between 1 and `wanted` bytes of the form.
    fn append(&mut self, out: &mut Vec<u8>, wanted: usize) -> Result<usize, DocdbError> {
        let got = match &mut self.form {
            Reading::Stored(stored) => {
                let rest = stored.rest()?;
                let got = rest.len().min(wanted);
                out.extend_from_slice(&rest[..got]);
                stored.at += got;
                got
            }
            Reading::Unzipped(decoder) => {
                let at = out.len();
                out.resize(at + wanted, 0);
                let got = decoder.read(&mut out[at..]);
                out.truncate(at + got.as_ref().map_or(0, |got| *got));
                got.map_err(|error| unreadable(error, decoder.get_ref()))?
            }
        };
        if got == 0 {
            let (snapshot, attachment) = self.source();
            return Err(snapshot.damaged("data", attachment.name.as_bytes()));
        }
        Ok(got)
    }

    fn source(&self) -> (&Snapshot, &Attachment) {
        let stored = match &self.form {
            Reading::Stored(stored) => stored,
            Reading::Unzipped(decoder) => decoder.get_ref(),
        };
        (stored.snapshot, stored.attachment)
    }
}

fn unreadable(error: io::Error, stored: &StoredBytes<'_>) -> DocdbError {
    match error.downcast() {
        Ok(error) => error,
        Err(_) => {
            let name = stored.attachment.name.as_bytes();
            stored.snapshot.damaged("gzip data", name)
        }
    }
}

impl Snapshot {
    /// Reads the bytes of an attachment that lie in `range`.
    pub fn attachment_reader<'a>(
        &'a self,
        attachment: &'a Attachment,
        form: AttachmentForm,
        range: Range<u64>,
    ) -> AttachmentReader<'a> {
        let mut stored = StoredBytes {
            snapshot: self,
            attachment,
            chunk: 0,
            at: 0,
            content: Vec::new(),
        };
        let (form, at) = match form {
            AttachmentForm::Plain if attachment.is_gzip => {
                (Reading::Unzipped(Box::new(MultiGzDecoder::new(stored))), 0)
            }
            _ => {
                let at = stored.skip_to(range.start);
                (Reading::Stored(stored), at)
            }
        };
        AttachmentReader { form, at, range }
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
        let mut reader =
            self.attachment_reader(attachment, AttachmentForm::Plain, 0..attachment.length);
        while reader.read(out, SHARE)? {}
        Ok(())
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
        let read = Document::parse(&text, |name| name == MEMBER);
        let read = read.map_err(|source| DocdbError::Body {
            path: self.shared.path.clone(),
            id: edit.id.clone(),
            source,
        })?;
        edit.body = read.body;
        edit.access = read.special.into_iter().next().map(|(_, names)| names);
        edit.revs = vec![rev.clone()];
        let kept = self.attachments(stored)?.into_iter();
        edit.attachments = kept
            .map(|record| IncomingAttachment::kept(record, self))
            .collect();
        Ok(Ok(edit))
    }
}
