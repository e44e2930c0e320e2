//! Documents with their attachments behind them, as parts of a multipart body.

use crate::couch::document::multipart::new_boundary;
use crate::couch::document::options::Extras;
use crate::couch::document::render::{Shown, Sink};
use crate::couch::failures;
use crate::http::BodyWriter;
use crate::{Answer, Failure};
use varve_docdb::{Attachment, Document, Form, Rev, Snapshot};

/// A revision of a document with all that is needed to send it later.
#[derive(Clone)]
pub struct Source {
    /// Where it is read from.
    pub snapshot: Snapshot,
    /// The document.
    pub document: Document,
    /// The revision.
    pub rev: Rev,
    /// What is added to the body.
    pub extras: Extras,
    /// Attachments that came up to this generation stay stubs.
    pub whole_after: u64,
}

impl Source {
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
    pub fn in_parts(self) -> Result<Answer, Failure> {
        let boundary = new_boundary()?;
        let content_type = format!("multipart/related; boundary=\"{boundary}\"");
        Ok(Answer::stream(&content_type, move |writer| {
            self.write(&boundary, writer)
        }))
    }

    /// Writes the document and its attachments between boundaries.
    fn write(&self, boundary: &str, writer: &mut BodyWriter) -> Result<(), Failure> {
        let shown = self.shown()?;
        let begin = format!("--{boundary}\r\nContent-Type: application/json\r\n\r\n");
        writer.write(begin.as_bytes())?;
        shown.write(writer)?;
        for attachment in self.snapshot.attachments(shown.stored)? {
            if shown.is_whole(&attachment) {
                writer.write(head_of(&attachment, boundary).as_bytes())?;
                let all = 0..attachment.stored_length;
                self.snapshot
                    .read_attachment(&attachment, Form::Stored, all, &mut |bytes| {
                        writer.write(bytes).map_err(Failure::from)
                    })?;
            }
        }
        writer.write(format!("\r\n--{boundary}--").as_bytes())?;
        Ok(())
    }

    fn has_attachments(&self) -> Result<bool, Failure> {
        Ok(self.shown()?.stored.attachments.is_some())
    }
}

/// What stands before an attachment's data.
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
pub struct Outer<'w> {
    writer: &'w mut BodyWriter,
    boundary: String,
    inner: String,
    any: bool,
}

/// An answer whose parts are documents; `media` is its type.
///
/// # Errors
/// 500 if there is no boundary.
pub fn mixed(
    media: &str,
    write: impl FnOnce(&mut Outer<'_>) -> Result<(), Failure> + Send + 'static,
) -> Result<Answer, Failure> {
    let (boundary, inner) = (new_boundary()?, new_boundary()?);
    let content_type = format!("{media}; boundary=\"{boundary}\"");
    Ok(Answer::stream(&content_type, move |writer| {
        let mut outer = Outer {
            writer,
            boundary,
            inner,
            any: false,
        };
        write(&mut outer)?;
        outer.end()
    }))
}

impl Outer<'_> {
    fn begin(&mut self, headers: &str) -> Result<(), Failure> {
        let line_end = if self.any { "\r\n" } else { "" };
        self.any = true;
        let head = format!("{line_end}--{}\r\n{headers}\r\n", self.boundary);
        Ok(self.writer.write(head.as_bytes())?)
    }

    /// A document: with attachments a multipart body of its own, which gets the further headers.
    ///
    /// # Errors
    /// 500 if the file cannot be read; the client has gone.
    pub fn document(&mut self, source: &Source, further: &[(&str, String)]) -> Result<(), Failure> {
        if !source.has_attachments()? {
            self.begin("Content-Type: application/json\r\n")?;
            source.shown()?.write(self.writer)?;
            return self.writer.pass_on();
        }
        let further = further.iter();
        let mut headers: String = further
            .map(|(name, value)| format!("{name}: {}\r\n", header_text(value)))
            .collect();
        headers += &format!(
            "Content-Type: multipart/related; boundary=\"{}\"\r\n",
            self.inner
        );
        self.begin(&headers)?;
        source.write(&self.inner, self.writer)
    }

    /// What stands in the place of a document that cannot be had, as JSON.
    ///
    /// # Errors
    /// The client has gone.
    pub fn error(&mut self, text: &[u8]) -> Result<(), Failure> {
        self.begin("Content-Type: application/json; error=\"true\"\r\n")?;
        Ok(self.writer.write(text)?)
    }

    fn end(&mut self) -> Result<(), Failure> {
        let line_end = if self.any { "\r\n" } else { "" };
        let end = format!("{line_end}--{}--", self.boundary);
        Ok(self.writer.write(end.as_bytes())?)
    }
}
