//! Attachments on their way into a new file.

use super::{LeftOut, Load, LoadedAttachment};
use crate::database::PIECE;
use crate::gzip::Following;
use crate::record::Attachment;
use crate::{DocdbError, Rev};
use md5::{Digest, Md5};
use std::io::{self, Read};
use varve_btree::{ChunkRef, EncodedChunk};

/// Bytes that are read at once.
const READ: usize = 64 << 10;

/// Data of one attachment that was copied.
struct Copied {
    md5: [u8; 16],
    length: u64,
    stored_length: u64,
    chunks: Vec<ChunkRef>,
}

impl Load<'_> {
    /// Copies an attachment's data, piece by piece; `None` if it was left out.
    pub(super) fn attachment(
        &mut self,
        (id, rev): (&str, &Rev),
        mut attachment: LoadedAttachment,
    ) -> Result<Option<Attachment>, DocdbError> {
        let copied = self.copy(&mut attachment)?.and_then(|copied| {
            match attachment.md5.is_none_or(|md5| md5 == copied.md5) {
                true => Ok(copied),
                false => Err("its data has another MD5 than was noted for it".to_owned()),
            }
        });
        match copied {
            Ok(copied) => Ok(Some(Attachment {
                name: attachment.name,
                content_type: attachment.content_type,
                md5: copied.md5,
                revpos: attachment.revpos.max(1),
                is_gzip: attachment.is_gzip,
                length: copied.length,
                stored_length: copied.stored_length,
                chunks: copied.chunks,
            })),
            Err(reason) => {
                self.leave_out(LeftOut {
                    id: id.to_owned(),
                    rev: Some(rev.clone()),
                    attachment: Some(attachment.name),
                    reason,
                });
                Ok(None)
            }
        }
    }

    fn copy(&mut self, from: &mut LoadedAttachment) -> Result<Result<Copied, String>, DocdbError> {
        let mut followed = from.is_gzip.then(Following::new);
        let (mut md5, mut stored_length) = (Md5::new(), 0_u64);
        let (mut piece, mut chunks) = (Vec::new(), Vec::new());
        loop {
            self.check()?;
            let before = piece.len();
            piece.resize((before + READ).min(PIECE), 0);
            let got = match read_some(from.data.as_mut(), &mut piece[before..]) {
                Ok(got) => got,
                Err(error) => return Ok(Err(error.to_string())),
            };
            piece.truncate(before + got);
            let new = &piece[before..];
            md5.update(new);
            stored_length = stored_length.saturating_add(got as u64);
            if let Some(followed) = &mut followed
                && let Err(error) = followed.write(new)
            {
                return Ok(Err(format!("its data is no gzip: {error}")));
            }
            if piece.len() == PIECE || got == 0 && !piece.is_empty() {
                let chunk = EncodedChunk::encode(&mut self.plain, &piece)?;
                chunks.push(self.txn.append_chunk(&chunk)?);
                piece.clear();
            }
            if got == 0 {
                break;
            }
        }
        let length = match followed.map(Following::finish) {
            None => stored_length,
            Some(Ok(length)) => length,
            Some(Err(error)) => return Ok(Err(format!("its data is no whole gzip: {error}"))),
        };
        Ok(Ok(Copied {
            md5: md5.finalize().into(),
            length,
            stored_length,
            chunks,
        }))
    }
}

/// Reads some bytes; 0 only at the end.
fn read_some(from: &mut dyn Read, to: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(to) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            got => return got,
        }
    }
}
