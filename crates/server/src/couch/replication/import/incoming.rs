//! One revision as a stream: its attachments go into the database's file while they come.

use super::super::database::is_addressable;
use super::super::error::ReplicationError;
use super::super::peer::PeerAnswer;
use crate::Failure;
use crate::couch::document::content_md5::{CheckedUpload, ContentMd5};
use crate::couch::document::multipart::{Parts, boundary_of};
use crate::couch::document::receive::{RELATED, bring_parts};
use bytes::{Buf, Bytes};
use hyper::header::CONTENT_TYPE;
use std::collections::HashMap;
use std::io::{self, Read};
use tokio::sync::mpsc;
use varve_docdb::{Database, Edit};
use varve_json::Value;

/// Bytes of a document's JSON text.
const LONGEST_DOCUMENT: usize = 256 << 20;
/// Pieces of an answer that wait for the disk.
const PIECES: usize = 8;

/// A revision did not come.
#[derive(Debug)]
pub(super) enum IncomingError {
    /// The answer was cut.
    Cut(ReplicationError),
    /// The answer is none, or the directory could not take it.
    Bad(String),
}

/// Reads the answer to a request for one revision.
pub(super) async fn read(
    mut answer: PeerAnswer,
    id: &str,
    database: &Database,
) -> Result<Edit, IncomingError> {
    let content_type = answer.header(&CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    if !content_type.to_ascii_lowercase().starts_with(RELATED) {
        let body = answer.bytes(LONGEST_DOCUMENT).await;
        let body = body.map_err(IncomingError::Cut)?;
        let edit = Edit::parse(Some(id), &body).map_err(bad)?;
        return complete(edit).map_err(IncomingError::Bad);
    }
    let Some(boundary) = boundary_of(&content_type).map(str::to_owned) else {
        return Err(IncomingError::Bad(
            "multipart without a boundary".to_owned(),
        ));
    };
    let (sender, receiver) = mpsc::channel(PIECES);
    let (id, database) = (id.to_owned(), database.clone());
    let parsing = tokio::task::spawn_blocking(move || {
        let pieces = PieceReader {
            receiver,
            piece: Bytes::new(),
        };
        related(Parts::new(pieces, &boundary), &id, &database)
    });
    let cut = loop {
        match answer.piece().await {
            Ok(Some(piece)) => {
                if sender.send(piece).await.is_err() {
                    break None;
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    drop(sender);
    let parsed = parsing.await;
    match (cut, parsed) {
        (Some(error), _) => Err(IncomingError::Cut(error)),
        (None, Ok(Ok(edit))) => Ok(edit),
        (None, Ok(Err(failure))) => Err(IncomingError::Bad(failure.reason)),
        (None, Err(error)) => Err(bad(error)),
    }
}

fn bad(error: impl std::fmt::Display) -> IncomingError {
    IncomingError::Bad(error.to_string())
}

/// The document of the first part, with the attachments of the others, of which each must have the digest that the
/// document says.
fn related<R: Read>(mut parts: Parts<R>, id: &str, database: &Database) -> Result<Edit, Failure> {
    if parts.next()?.is_none() {
        return Err(Failure::bad_request("the multipart body has no document"));
    }
    let text = parts.whole_body(LONGEST_DOCUMENT as u64)?;
    let digests = digests(&text);
    let mut edit = Edit::parse(Some(id), &text)?;
    drop(text);
    bring_parts(&mut edit, &mut parts, |announced, _, parts| {
        let md5 = ContentMd5::parse(digests.get(&announced.name).map(String::as_str))?;
        let mut upload = CheckedUpload::begin(database, announced, md5)?;
        parts.body(&mut |bytes| upload.write(bytes))?;
        upload.finish()
    })?;
    complete(edit).map_err(Failure::bad_request)
}

/// Refuses an edit of which an attachment has not come.
fn complete(edit: Edit) -> Result<Edit, String> {
    let lacking = edit.awaited().next();
    match lacking {
        None => Ok(edit),
        Some(lacking) => Err(format!("the attachment {:?} does not come", lacking.name)),
    }
}

/// The MD5 of each attachment in base64, by its name.
fn digests(document: &[u8]) -> HashMap<String, String> {
    let document = varve_json::parse(document).ok();
    let list = document
        .as_ref()
        .and_then(|it| it.get("_attachments")?.as_object());
    let stubs = list.into_iter().flat_map(varve_json::Object::iter);
    let named = stubs.filter_map(|(name, stub)| {
        let digest = stub.get("digest").and_then(Value::as_str)?;
        Some((name.to_owned(), digest.strip_prefix("md5-")?.to_owned()))
    });
    named.collect()
}

/// Id and revision of a document that came with others.
pub(super) fn name_of(document: &Value) -> Option<(&str, &str)> {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    Some((text("_id").filter(|id| is_addressable(id))?, text("_rev")?))
}

/// The pieces of an answer, read on a thread that may wait.
struct PieceReader {
    receiver: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Read for PieceReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let len = out.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut out[..len]);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use md5::{Digest, Md5};
    use std::path::Path;
    use std::sync::Arc;
    use varve_base::MemoryStorage;
    use varve_docdb::{DatabaseOptions, NodeCache};

    fn body(data: &str, digest_of: &str, closing: &str) -> Vec<u8> {
        let digest = STANDARD.encode(Md5::digest(digest_of));
        format!(
            "--b\r\nContent-Type: application/json\r\n\r\n{{\"_id\":\"x\",\"_rev\":\"1-a\",\"_attachments\":\
             {{\"f\":{{\"follows\":true,\"length\":{},\"digest\":\"md5-{digest}\"}}}}}}\r\n--b\r\n\
             Content-Disposition: attachment; filename=\"f\"\r\n\r\n{data}\r\n--b{closing}",
            data.len()
        )
        .into_bytes()
    }

    #[test]
    fn an_attachment_counts_only_whole_and_with_its_digest() {
        let options =
            DatabaseOptions::new(varve_codec::EngineSetting::NONE, NodeCache::new(1 << 20));
        let storage = Arc::new(MemoryStorage::default());
        let database = Database::create(storage, Path::new("a.varve"), &options).unwrap();
        let read = |body: Vec<u8>| {
            let parts = Parts::new(io::Cursor::new(body), "b");
            related(parts, "x", &database).map_err(|failure| failure.reason)
        };
        assert!(read(body("silt", "silt", "--")).is_ok());
        let changed = read(body("sand", "silt", "--")).unwrap_err();
        assert_eq!(changed, "Possible message corruption.");
        let cut = read(body("silt", "silt", "")).unwrap_err();
        assert!(cut.contains("boundary"), "{cut}");
        let whole = body("silt", "silt", "--");
        let head = whole
            .windows(5)
            .rposition(|part| part == b"\r\n--b")
            .unwrap();
        let end = whole[..head]
            .windows(5)
            .rposition(|part| part == b"\r\n--b")
            .unwrap();
        let lacking = [&whole[..end], b"\r\n--b--"].concat();
        let lacking = read(lacking).unwrap_err();
        assert_eq!(lacking, "the attachment \"f\" does not come");
    }
}
