//! Writing a document's JSON text around its stored body, which is not parsed for that.

use crate::{Attachment, Digest, Rev};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use varve_json::{Number, write_string};

/// A document's JSON text in the making: `{"_id":…,"_rev":…,` body, further members, `}`.
///
/// Members come in CouchDB's order if they are added so: `_revisions`, `_revs_info`,
/// `_local_seq`, `_conflicts`, `_deleted_conflicts`, `_attachments`.
#[derive(Debug)]
pub struct DocumentText<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> DocumentText<'o> {
    /// Begins with id, revision, the stored body, and `_deleted` if it is.
    pub fn begin(id: &str, rev: &Rev, deleted: bool, body: &[u8], out: &'o mut Vec<u8>) -> Self {
        let mut text = DocumentText::local(id, |out| rev.write(out), body, out);
        if deleted {
            text.member("_deleted", |out| out.extend_from_slice(b"true"));
        }
        text
    }

    /// Begins with id, a revision that `write_rev` writes, and the stored body.
    pub fn local(
        id: &str,
        write_rev: impl FnOnce(&mut Vec<u8>),
        body: &[u8],
        out: &'o mut Vec<u8>,
    ) -> Self {
        out.reserve(body.len() + id.len() + 64);
        out.extend_from_slice(b"{\"_id\":");
        write_string(id, out);
        out.extend_from_slice(b",\"_rev\":\"");
        write_rev(out);
        out.push(b'"');
        // The members between the braces.
        let inner = body
            .strip_prefix(b"{")
            .and_then(|rest| rest.strip_suffix(b"}"));
        if let Some(inner) = inner.filter(|inner| !inner.is_empty()) {
            out.push(b',');
            out.extend_from_slice(inner);
        }
        DocumentText { out }
    }

    /// Adds a member whose value `write` appends.
    pub fn member(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.out.push(b',');
        write_string(name, self.out);
        self.out.push(b':');
        write(self.out);
        self
    }

    /// Adds a member that lists revisions; nothing if there are none.
    pub fn revs<'r>(&mut self, name: &str, revs: impl IntoIterator<Item = &'r Rev>) -> &mut Self {
        let mut revs = revs.into_iter().peekable();
        if revs.peek().is_none() {
            return self;
        }
        self.member(name, |out| {
            let mut separator = b'[';
            for rev in revs {
                out.push(separator);
                separator = b',';
                out.push(b'"');
                rev.write(out);
                out.push(b'"');
            }
            out.push(b']');
        })
    }

    /// Writes the closing brace.
    pub fn end(self) {
        self.out.push(b'}');
    }
}

/// Appends `{"start":3,"ids":["c…","b…","a…"]}`.
pub fn write_revisions(start: u64, ids: &[Digest], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"start\":");
    Number::from(start).write(out);
    out.extend_from_slice(b",\"ids\":[");
    for (index, id) in ids.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b",\"" } else { b"\"" });
        id.write(out);
        out.push(b'"');
    }
    out.extend_from_slice(b"]}");
}

/// Appends `md5-` and the digest in base64.
pub fn write_digest(md5: &[u8; 16], out: &mut Vec<u8>) {
    out.extend_from_slice(b"md5-");
    out.extend_from_slice(STANDARD.encode(md5).as_bytes());
}

/// Appends the value of `_attachments` without data; `with_encoding` adds the members that `att_encoding_info=true`
/// asks for.
pub fn write_attachment_stubs(attachments: &[Attachment], with_encoding: bool, out: &mut Vec<u8>) {
    for (index, attachment) in attachments.iter().enumerate() {
        out.push(if index > 0 { b',' } else { b'{' });
        write_string(&attachment.name, out);
        out.extend_from_slice(b":{\"content_type\":");
        write_string(&attachment.content_type, out);
        out.extend_from_slice(b",\"revpos\":");
        Number::from(attachment.revpos).write(out);
        out.extend_from_slice(b",\"digest\":\"");
        write_digest(&attachment.md5, out);
        out.extend_from_slice(b"\",\"length\":");
        Number::from(attachment.length).write(out);
        out.extend_from_slice(b",\"stub\":true");
        if with_encoding && attachment.is_gzip {
            out.extend_from_slice(b",\"encoding\":\"gzip\",\"encoded_length\":");
            Number::from(attachment.stored_length).write(out);
        }
        out.push(b'}');
    }
    out.extend_from_slice(if attachments.is_empty() { b"{}" } else { b"}" });
}
