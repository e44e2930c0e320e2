//! `Content-MD5`: the digest that a client expects of the attachment that it sends, as it is sent.

use crate::Failure;
use crate::http::FailureKind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use varve_docdb::{Announced, Database, Upload, Uploaded};

/// An announced digest, and that of the bytes so far.
#[derive(Clone, Debug)]
pub struct ContentMd5 {
    expected: [u8; 16],
    received: Md5,
}

impl ContentMd5 {
    /// Reads the header's value.
    ///
    /// # Errors
    /// 400 for one that is no digest: no body has it.
    pub fn parse(value: Option<&str>) -> Result<Option<ContentMd5>, Failure> {
        let Some(value) = value else {
            return Ok(None);
        };
        let decoded = STANDARD.decode(value.trim()).ok();
        let expected = decoded.and_then(|bytes| bytes.try_into().ok());
        Ok(Some(ContentMd5 {
            expected: expected.ok_or_else(mismatch)?,
            received: Md5::new(),
        }))
    }
}

/// An attachment on its way into the database's file, which is refused if its digest is another one.
#[derive(Debug)]
pub struct CheckedUpload {
    upload: Upload,
    md5: Option<ContentMd5>,
}

impl CheckedUpload {
    /// # Errors
    /// As [`Database::upload`].
    pub fn begin(
        database: &Database,
        announced: &Announced,
        md5: Option<ContentMd5>,
    ) -> Result<CheckedUpload, Failure> {
        let upload = database.upload(announced)?;
        Ok(CheckedUpload { upload, md5 })
    }

    /// # Errors
    /// As [`Upload::write`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if let Some(md5) = &mut self.md5 {
            md5.received.update(bytes);
        }
        Ok(self.upload.write(bytes)??)
    }

    /// # Errors
    /// 400 for another digest; as [`Upload::finish`].
    pub fn finish(self) -> Result<Uploaded, Failure> {
        if let Some(ContentMd5 { expected, received }) = self.md5
            && expected != <[u8; 16]>::from(received.finalize())
        {
            return Err(mismatch());
        }
        Ok(self.upload.finish()??)
    }
}

/// 400 in CouchDB's words.
fn mismatch() -> Failure {
    let (kind, word) = (FailureKind::BadRequest, "content_md5_mismatch");
    Failure::new(kind, word, "Possible message corruption.")
}
