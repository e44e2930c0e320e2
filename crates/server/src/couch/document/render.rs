//! Documents as JSON text, spliced from the stored text without parsing it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use varve_docdb::{
    Attachment, AttachmentForm, Document, Node, Rev, Snapshot, Stored, write_digest,
};

use crate::Failure;
use crate::couch::changes::sequence::write_number;
use crate::couch::document::options::{Data, Extras};
use crate::http::{BodyWriter, STREAM_BUFFER, poll_once};
use crate::runtime::repeats::fault_id;

/// Bytes of an attachment that are read at a time, to be written as base64.
const DATA_PIECE: usize = 48 << 10;

/// Where a document's text goes.
pub trait Sink: Send {
    /// Where it is appended.
    fn text(&mut self) -> &mut Vec<u8>;

    /// How many bytes are passed on at a time.
    fn piece(&self) -> usize;

    /// How often text was passed on.
    fn passed(&self) -> u64;

    /// Whether a large buffer may be kept while text is passed on.
    fn may_keep_buffer(&mut self) -> bool;

    /// Passes the text on if it is enough.
    ///
    /// # Errors
    /// The reader has gone.
    fn pass_on(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;
}

impl Sink for Vec<u8> {
    fn text(&mut self) -> &mut Vec<u8> {
        self
    }

    fn piece(&self) -> usize {
        STREAM_BUFFER
    }

    fn passed(&self) -> u64 {
        0
    }

    fn may_keep_buffer(&mut self) -> bool {
        true
    }

    async fn pass_on(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Sink for BodyWriter {
    fn text(&mut self) -> &mut Vec<u8> {
        self.buffer()
    }

    fn piece(&self) -> usize {
        BodyWriter::piece(self)
    }

    fn passed(&self) -> u64 {
        BodyWriter::passed(self)
    }

    fn may_keep_buffer(&mut self) -> bool {
        BodyWriter::may_keep_buffer(self)
    }

    async fn pass_on(&mut self) -> Result<(), Failure> {
        Ok(self.flush_if_full().await?)
    }
}

/// The end of a text before something is appended that may fail.
pub struct Savepoint {
    at: usize,
    passed: u64,
}

impl Savepoint {
    /// Remembers where the text ends now.
    pub fn of(sink: &mut impl Sink) -> Savepoint {
        Savepoint {
            at: sink.text().len(),
            passed: sink.passed(),
        }
    }

    /// Removes the text that a failed attempt appended, if none of it was passed on; the inner error is the failure.
    ///
    /// # Errors
    /// The failure, where some text was passed on or the attempt would block.
    pub fn settle(
        self,
        sink: &mut impl Sink,
        written: Result<(), Failure>,
    ) -> Result<Result<(), Failure>, Failure> {
        match written {
            Err(failure) if !failure.is_would_block() && sink.passed() == self.passed => {
                sink.text().truncate(self.at);
                Ok(Err(failure))
            }
            done => done.map(Ok),
        }
    }
}

/// Output of a future that writes into memory, and so need not wait.
///
/// # Errors
/// That of the future.
pub fn into_memory<T>(writing: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let written = poll_once(writing);
    written.unwrap_or_else(|| Err(Failure::internal("writing into memory has to wait")))
}

/// Logs why something is left out of an answer that goes on without it.
pub fn log_left_out(failure: &Failure) {
    if failure.kind.is_server_fault() {
        let reason = &failure.reason;
        tracing::error!(
            fault = fault_id(reason),
            "an answer goes on without what cannot be read: {reason}"
        );
    }
}

/// Appends the members `error` and `reason`, for a row whose document cannot be shown, and logs them.
pub fn write_error(failure: &Failure, out: &mut Vec<u8>) {
    log_left_out(failure);
    for (name, text) in [("error", &failure.error), ("reason", &failure.reason)] {
        out.push(b',');
        varve_json::write_string(name, out);
        out.push(b':');
        varve_json::write_string(text, out);
    }
}

/// One revision of a document, and the members to be shown of it.
pub struct Shown<'a> {
    /// Where it is read from.
    pub snapshot: &'a Snapshot,
    /// The document's id.
    pub id: &'a str,
    /// The revision.
    pub rev: &'a Rev,
    /// Its content.
    pub stored: &'a Stored,
    /// The whole revision tree; needed where [`Extras::need_tree`].
    pub document: Option<&'a Document>,
    /// Members added to the body.
    pub extras: Extras,
    /// With [`Extras::attachments`], those that came up to this generation stay stubs.
    pub whole_after: u64,
}

impl Extras {
    /// Whether something is wanted that only the revision tree knows.
    pub fn need_tree(&self) -> bool {
        self.revs || self.has_meta()
    }

    /// Whether the shown members depend on other revisions, so that the document has no entity tag.
    pub fn has_meta(&self) -> bool {
        self.revs_info || self.conflicts || self.deleted_conflicts || self.local_seq
    }
}

impl Shown<'_> {
    /// Appends the document's JSON text. Returns whether it has members that depend on other
    /// revisions.
    ///
    /// # Errors
    /// 500 if the file cannot be read; it names the document.
    pub async fn write(&self, sink: &mut impl Sink) -> Result<bool, Failure> {
        let written = self.write_members(sink).await;
        written.map_err(|failure| failure.about(self.id, self.rev))
    }

    /// [`Shown::write`] into memory.
    ///
    /// # Errors
    /// As there.
    pub fn write_whole(&self, out: &mut Vec<u8>) -> Result<bool, Failure> {
        into_memory(self.write(out))
    }

    async fn write_members(&self, sink: &mut impl Sink) -> Result<bool, Failure> {
        let out = sink.text();
        out.extend_from_slice(b"{\"_id\":");
        varve_json::write_string(self.id, out);
        out.extend_from_slice(b",\"_rev\":\"");
        self.rev.write(out);
        out.push(b'"');
        self.splice_body(out)?;
        if self.stored.deleted {
            out.extend_from_slice(b",\"_deleted\":true");
        }
        let before_meta = match self.document {
            Some(document) if self.extras.need_tree() => self.write_tree(document, out),
            _ => out.len(),
        };
        let has_meta = out.len() > before_meta;
        if self.stored.attachments.is_some() {
            self.write_attachments(sink).await?;
        }
        sink.text().push(b'}');
        Ok(has_meta)
    }

    /// Appends the member `doc` of a row or a change; for a document that cannot be read `error` and
    /// `reason` in its place, so that the others can be shown.
    ///
    /// # Errors
    /// As [`Shown::write`], if a part of the document was passed on already.
    pub async fn write_doc(self, sink: &mut impl Sink) -> Result<(), Failure> {
        let savepoint = Savepoint::of(sink);
        sink.text().extend_from_slice(b",\"doc\":");
        let written = self.write_in_row(sink).await;
        if let Err(failure) = savepoint.settle(sink, written)? {
            write_error(&failure, sink.text());
        }
        Ok(())
    }

    /// [`Shown::write`] where no revision tree is at hand: it is read if it is needed.
    async fn write_in_row(self, out: &mut impl Sink) -> Result<(), Failure> {
        if self.document.is_some() || !self.extras.need_tree() {
            return self.write(out).await.map(drop);
        }
        let document = self.snapshot.document(self.id)?;
        let shown = Shown {
            document: document.as_ref(),
            ..self
        };
        shown.write(out).await.map(drop)
    }

    /// Turns the opening brace of the stored text into a comma, and drops the closing one.
    fn splice_body(&self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let at = out.len();
        self.snapshot.body(self.stored, out)?;
        if out.len() - at <= b"{}".len() {
            out.truncate(at);
            return Ok(());
        }
        out[at] = b',';
        out.pop();
        Ok(())
    }

    /// Returns where the members begin that depend on other revisions.
    fn write_tree(&self, document: &Document, out: &mut Vec<u8>) -> usize {
        if self.extras.revs {
            self.write_revisions(document, out);
        }
        let before_meta = out.len();
        if self.extras.revs_info {
            self.write_revs_info(document, out);
        }
        if self.extras.conflicts {
            write_leaves(b",\"_conflicts\":", document.tree().conflicts(), out);
        }
        if self.extras.deleted_conflicts {
            let leaves = document.tree().deleted_conflicts();
            write_leaves(b",\"_deleted_conflicts\":", leaves, out);
        }
        if self.extras.local_seq {
            out.extend_from_slice(b",\"_local_seq\":");
            write_number(self.stored.seq, out);
        }
        before_meta
    }

    fn write_revisions(&self, document: &Document, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"_revisions\":{\"start\":");
        write_number(self.rev.generation, out);
        out.extend_from_slice(b",\"ids\":[");
        // Documents that were written under a higher limit keep more until they are written again.
        let limit = usize::try_from(self.snapshot.revs_limit()).unwrap_or(usize::MAX);
        let path = document.tree().path(self.rev).take(limit);
        for (index, node) in path.enumerate() {
            out.extend_from_slice(if index > 0 { b",\"" } else { b"\"" });
            node.rev.digest.write(out);
            out.push(b'"');
        }
        out.extend_from_slice(b"]}");
    }

    fn write_revs_info(&self, document: &Document, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"_revs_info\":[");
        for (index, node) in document.tree().path(self.rev).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"rev\":\"");
            node.rev.write(out);
            out.extend_from_slice(match &node.stored {
                Some(stored) if stored.deleted => b"\",\"status\":\"deleted\"}",
                Some(_) => b"\",\"status\":\"available\"}",
                None => b"\",\"status\":\"missing\"}",
            });
        }
        out.push(b']');
    }

    async fn write_attachments(&self, sink: &mut impl Sink) -> Result<(), Failure> {
        let out = sink.text();
        out.extend_from_slice(b",\"_attachments\":{");
        let attachments = self.snapshot.attachments(self.stored)?;
        for (index, attachment) in attachments.iter().enumerate() {
            let out = sink.text();
            if index > 0 {
                out.push(b',');
            }
            varve_json::write_string(&attachment.name, out);
            out.extend_from_slice(b":{\"content_type\":");
            varve_json::write_string(&attachment.content_type, out);
            out.extend_from_slice(b",\"revpos\":");
            write_number(attachment.revpos, out);
            out.extend_from_slice(b",\"digest\":\"");
            write_digest(&attachment.md5, out);
            out.push(b'"');
            match self.extras.attachments {
                Data::Inline if self.is_whole(attachment) => {
                    self.write_data(attachment, sink).await?;
                }
                Data::Follows if self.is_whole(attachment) => {
                    self.write_stub(attachment, "follows", out);
                }
                _ => self.write_stub(attachment, "stub", out),
            }
            sink.text().push(b'}');
        }
        sink.text().push(b'}');
        Ok(())
    }

    /// Whether the client wants the data, if it wants any.
    pub fn is_whole(&self, attachment: &Attachment) -> bool {
        attachment.revpos > self.whole_after
    }

    fn write_stub(&self, attachment: &Attachment, word: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"length\":");
        write_number(attachment.length, out);
        out.extend_from_slice(b",\"");
        out.extend_from_slice(word.as_bytes());
        out.extend_from_slice(b"\":true");
        if self.extras.att_encoding_info && attachment.is_gzip {
            out.extend_from_slice(b",\"encoding\":\"gzip\",\"encoded_length\":");
            write_number(attachment.stored_length, out);
        }
    }

    /// The bytes as base64: with `att_encoding_info` those that are stored.
    async fn write_data(
        &self,
        attachment: &Attachment,
        sink: &mut impl Sink,
    ) -> Result<(), Failure> {
        let as_stored = self.extras.att_encoding_info && attachment.is_gzip;
        let (form, length) = match as_stored {
            true => (AttachmentForm::Stored, attachment.stored_length),
            false => (AttachmentForm::Plain, attachment.length),
        };
        sink.text().extend_from_slice(b",\"data\":\"");
        let mut reader = self.snapshot.attachment_reader(attachment, form, 0..length);
        let keeps_chunk = sink.may_keep_buffer();
        let mut bytes = Vec::new();
        loop {
            let has_more = reader.read(&mut bytes, DATA_PIECE)?;
            if !keeps_chunk {
                reader.release();
            }
            // Three bytes make four letters.
            let whole = match has_more {
                true => bytes.len() / 3 * 3,
                false => bytes.len(),
            };
            let out = sink.text();
            let at = out.len();
            out.resize(at + whole.div_ceil(3) * 4, 0);
            let encoded = STANDARD.encode_slice(&bytes[..whole], &mut out[at..]);
            encoded.map_err(Failure::internal)?;
            bytes.drain(..whole);
            if !has_more {
                break;
            }
            sink.pass_on().await?;
        }
        let out = sink.text();
        out.push(b'"');
        if as_stored {
            out.extend_from_slice(b",\"encoding\":\"gzip\"");
        }
        Ok(())
    }
}

/// A member with the revisions of leaves, if there are any.
fn write_leaves<'a>(name: &[u8], leaves: impl Iterator<Item = &'a Node>, out: &mut Vec<u8>) {
    for (index, leaf) in leaves.enumerate() {
        if index == 0 {
            out.extend_from_slice(name);
            out.push(b'[');
        } else {
            // Takes the place of the bracket that the leaf before has closed with.
            out.pop();
            out.push(b',');
        }
        out.push(b'"');
        leaf.rev.write(out);
        out.extend_from_slice(b"\"]");
    }
}
