//! Attachments as clients send them.

use crate::{Announced, Attachment, EditError, Snapshot, Uploaded};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use varve_json::{Object, Value};

/// One member of `_attachments`.
#[derive(Clone, Debug)]
pub(crate) struct IncomingAttachment {
    pub(crate) name: String,
    pub(crate) content_type: String,
    /// 0 if the revision to come counts.
    pub(crate) revpos: u64,
    pub(crate) content: Content,
}

/// Where an attachment's data comes from.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// The data is here.
    Data(Vec<u8>, Coding),
    /// A later part of the request brings it, and so many bytes if that is known.
    Follows(Coding, Option<u64>),
    /// The attachment arrived, and most of it is in the file already.
    Uploaded(Box<Uploaded>),
    /// The parent revision has it.
    Stub,
    /// The attachment is in the file already, in this snapshot.
    Kept(Attachment, Snapshot),
    /// In the file of another database.
    Foreign(Attachment, Snapshot),
}

/// How data comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As it is.
    Identity,
    /// As gzip.
    Gzip,
}

impl IncomingAttachment {
    /// One that is in the file already.
    pub(crate) fn kept(record: Attachment, source: &Snapshot) -> IncomingAttachment {
        IncomingAttachment {
            name: record.name.clone(),
            content_type: record.content_type.clone(),
            revpos: record.revpos,
            content: Content::Kept(record, source.clone()),
        }
    }

    /// One whose data has still to come.
    pub(crate) fn awaited(announced: Announced) -> IncomingAttachment {
        IncomingAttachment {
            name: announced.name,
            content_type: announced.content_type,
            revpos: 0,
            content: match announced.is_gzip {
                true => Content::Follows(Coding::Gzip, announced.length),
                false => Content::Follows(Coding::Identity, announced.length),
            },
        }
    }

    /// Makes the revision to come count as the one that brought it.
    pub(crate) fn anew(&mut self) {
        self.revpos = 0;
        if let Content::Kept(record, _) = &mut self.content {
            record.revpos = 0;
        }
    }

    /// Properties of the data that follows, if any does.
    pub(crate) fn announced(&self) -> Option<Announced> {
        let Content::Follows(coding, length) = self.content else {
            return None;
        };
        Some(Announced {
            name: self.name.clone(),
            content_type: self.content_type.clone(),
            is_gzip: coding != Coding::Identity,
            length,
        })
    }
}

/// Refuses a name that no attachment may have.
pub(crate) fn check_name(name: &str) -> Result<(), EditError> {
    match name.starts_with('_') {
        true => Err(EditError::AttachmentName(name.to_owned())),
        false => Ok(()),
    }
}

/// Reads the whole of `_attachments`.
pub(crate) fn all(list: Object) -> Result<Vec<IncomingAttachment>, EditError> {
    list.into_iter()
        .map(|(name, value)| one(name, &value))
        .collect()
}

fn one(name: String, value: &Value) -> Result<IncomingAttachment, EditError> {
    check_name(&name)?;
    if value.as_object().is_none() {
        return Err(EditError::BadMember("_attachments".to_owned()));
    }
    let says = |member: &str| value.get(member).and_then(Value::as_bool) == Some(true);
    let coding = match value.get("encoding").and_then(Value::as_str) {
        Some("gzip") => Coding::Gzip,
        _ => Coding::Identity,
    };
    let content = if says("stub") {
        Content::Stub
    } else if says("follows") {
        Content::Follows(coding, length_to_come(value, coding))
    } else {
        let text = value.get("data").and_then(Value::as_str);
        let data = text.and_then(decode_base64);
        // In JSON they are plain whatever `encoding` says: that is how CouchDB stores them.
        Content::Data(
            data.ok_or_else(|| EditError::AttachmentData(name.clone()))?,
            Coding::Identity,
        )
    };
    let content_type = value.get("content_type").and_then(Value::as_str);
    Ok(IncomingAttachment {
        content_type: content_type
            .unwrap_or("application/octet-stream")
            .to_owned(),
        revpos: value.get("revpos").and_then(Value::as_u64).unwrap_or(0),
        content,
        name,
    })
}

/// How many bytes a later part is said to have.
fn length_to_come(value: &Value, coding: Coding) -> Option<u64> {
    let number = |member: &str| value.get(member).and_then(Value::as_u64);
    match coding {
        Coding::Identity => number("length"),
        Coding::Gzip => number("encoded_length").or(number("length")),
    }
}

/// Decodes base64, which may be broken into lines.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().or_else(|| {
        let joined: Vec<u8> = text
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        STANDARD.decode(joined).ok()
    })
}
