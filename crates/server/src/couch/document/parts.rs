//! Documents with their attachments behind them, as parts of a multipart body.

use crate::couch::call::Call;
use crate::couch::document::attachments::write_attachment;
use crate::couch::document::multipart::new_boundary;
use crate::couch::document::options::Extras;
use crate::couch::document::render::{Shown, Sink};
use crate::couch::failures;
use crate::http::{BodyWriter, FinishedBody};
use crate::{Answer, Failure};
use std::sync::Arc;

use varve_docdb::{Attachment, AttachmentForm, Document, Rev, Snapshot};

/// A revision of a document with all that is needed to send it later.
#[derive(Clone)]
pub struct StoredRevision {
    /// Where it is read from.
    pub snapshot: Snapshot,
    /// The document.
    pub document: Arc<Document>,
    /// The revision.
    pub rev: Rev,
    /// Members added to the body.
    pub extras: Extras,
    /// Attachments that came up to this generation stay stubs.
    pub whole_after: u64,
}

impl StoredRevision {
    /// The revision as it is written.
    ///
    /// # Errors
    /// 404 if the revision has no content.
    pub fn shown(&self) -> Result<Shown<'_>, Failure> {
        let found = self.document.revision(&self.rev);
        let (rev, stored) = found.ok_or_else(failures::missing)?;
        Ok(Shown {
            snapshot: &self.snapshot,
            id: self.document.id(),
            rev,
            stored,
            document: Some(&self.document),
            extras: self.extras,
            whole_after: self.whole_after,
        })
    }

    /// Whether something is shown that depends on other revisions.
    pub fn has_meta(&self) -> bool {
        let (extras, tree) = (&self.extras, self.document.tree());
        extras.revs_info
            || extras.local_seq
            || extras.conflicts && tree.conflicts().next().is_some()
            || extras.deleted_conflicts && tree.deleted_conflicts().next().is_some()
    }

    /// Bytes of the attachments.
    ///
    /// # Errors
    /// 500 if the file cannot be read.
    pub fn data_length(&self) -> Result<u64, Failure> {
        let attachments = self.snapshot.attachments(self.shown()?.stored)?;
        Ok(attachments.iter().map(|each| each.length).sum())
    }

    /// The document as an answer of its own.
    ///
    /// # Errors
    /// 500 if there is no boundary.
    pub fn in_parts(self, call: &Call) -> Result<Answer, Failure> {
        let boundary = new_boundary()?;
        let content_type = format!("multipart/related; boundary=\"{boundary}\"");
        call.stream(&content_type, move |mut writer| async move {
            self.write(&boundary, &mut writer).await?;
            Ok(writer.finish())
        })
    }

    /// Writes the document and its attachments between boundaries.
    async fn write(&self, boundary: &str, writer: &mut BodyWriter) -> Result<(), Failure> {
        let shown = self.shown()?;
        let begin = format!("--{boundary}\r\nContent-Type: application/json\r\n\r\n");
        writer.write(begin.as_bytes()).await?;
        shown.write(writer).await?;
        for attachment in self.snapshot.attachments(shown.stored)? {
            if shown.is_whole(&attachment) {
                let head = head_of(&attachment, boundary);
                writer.write(head.as_bytes()).await?;
                let all = 0..attachment.stored_length;
                let mut reader =
                    self.snapshot
                        .attachment_reader(&attachment, AttachmentForm::Stored, all);
                write_attachment(&mut reader, writer).await?;
            }
        }
        let end = format!("\r\n--{boundary}--");
        writer.write(end.as_bytes()).await?;
        Ok(())
    }

    fn has_attachments(&self) -> Result<bool, Failure> {
        Ok(self.shown()?.stored.attachments.is_some())
    }
}

/// Headers of the part that holds an attachment's data.
fn head_of(attachment: &Attachment, boundary: &str) -> String {
    let name = header_text(&attachment.name).replace('\\', "\\\\");
    let name = name.replace('"', "\\\"");
    let mut head = format!(
        "\r\n--{boundary}\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\
         Content-Type: {}\r\nContent-Length: {}\r\n",
        header_text(&attachment.content_type),
        attachment.stored_length
    );
    if attachment.is_gzip {
        head.push_str("Content-Encoding: gzip\r\n");
    }
    head + "\r\n"
}

/// A text that cannot break out of its line.
fn header_text(text: &str) -> String {
    text.replace(|letter: char| letter.is_ascii_control(), "?")
}

/// The parts of an answer with several documents.
pub struct Outer {
    writer: BodyWriter,
    boundary: String,
    inner: String,
    any: bool,
}

/// An answer whose parts are documents; `media` is its type.
///
/// # Errors
/// 500 if there is no boundary.
pub fn mixed<F>(call: &Call, media: &str, write: impl FnOnce(Outer) -> F) -> Result<Answer, Failure>
where
    F: Future<Output = Result<FinishedBody, Failure>> + Send + 'static,
{
    let (boundary, inner) = (new_boundary()?, new_boundary()?);
    let content_type = format!("{media}; boundary=\"{boundary}\"");
    call.stream(&content_type, move |writer| {
        write(Outer {
            writer,
            boundary,
            inner,
            any: false,
        })
    })
}

impl Outer {
    async fn begin(&mut self, headers: &str) -> Result<(), Failure> {
        let line_end = if self.any { "\r\n" } else { "" };
        self.any = true;
        let head = format!("{line_end}--{}\r\n{headers}\r\n", self.boundary);
        Ok(self.writer.write(head.as_bytes()).await?)
    }

    /// A document: with attachments a multipart body of its own, which gets the further headers.
    ///
    /// # Errors
    /// 500 if the file cannot be read; the client has gone.
    pub async fn document(
        &mut self,
        source: &StoredRevision,
        further: &[(&str, String)],
    ) -> Result<(), Failure> {
        if !source.has_attachments()? {
            self.begin("Content-Type: application/json\r\n").await?;
            source.shown()?.write(&mut self.writer).await?;
            return self.writer.pass_on().await;
        }
        let further = further.iter();
        let mut headers: String = further
            .map(|(name, value)| format!("{name}: {}\r\n", header_text(value)))
            .collect();
        headers += &format!(
            "Content-Type: multipart/related; boundary=\"{}\"\r\n",
            self.inner
        );
        self.begin(&headers).await?;
        source.write(&self.inner, &mut self.writer).await
    }

    /// Writes a JSON error in the place of a document that cannot be read.
    ///
    /// # Errors
    /// The client has gone.
    pub async fn error(&mut self, text: &[u8]) -> Result<(), Failure> {
        self.begin("Content-Type: application/json; error=\"true\"\r\n")
            .await?;
        Ok(self.writer.write(text).await?)
    }

    /// Writes the end of the parts.
    ///
    /// # Errors
    /// The client has gone.
    pub async fn end(mut self) -> Result<FinishedBody, Failure> {
        let line_end = if self.any { "\r\n" } else { "" };
        let end = format!("{line_end}--{}--", self.boundary);
        self.writer.write(end.as_bytes()).await?;
        Ok(self.writer.finish())
    }
}
