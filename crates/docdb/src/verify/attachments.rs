//! The data of attachments: every piece is read, put together and compared with the list.

use super::finding::Trouble;
use crate::{Attachment, Snapshot};
use flate2::read::MultiGzDecoder;
use md5::{Digest, Md5};
use std::io::{self, Read};
use varve_btree::{ChunkCount, ChunkRef, ChunkStats};

/// Bytes that are looked at once.
const SHARE: usize = 64 << 10;

/// The stored form, hashed while it is read.
struct Stored<'a> {
    snapshot: &'a Snapshot,
    chunks: std::slice::Iter<'a, ChunkRef>,
    piece: Vec<u8>,
    at: usize,
    chunk_stats: &'a mut ChunkStats,
    md5: Md5,
    length: u64,
    trouble: Option<Trouble>,
}

impl Read for Stored<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let Some(&chunk) = self.chunks.next() else {
                return Ok(0);
            };
            self.piece.clear();
            self.at = 0;
            match self.snapshot.tree().inspect_chunk(chunk, &mut self.piece) {
                Ok(form) => {
                    let bytes = u64::from(chunk.len);
                    self.chunk_stats.add(form, ChunkCount { chunks: 1, bytes });
                }
                Err(error) => {
                    self.trouble = Some(Trouble::of(&error, chunk.offset));
                    return Err(io::Error::other("a piece cannot be read"));
                }
            }
            self.md5.update(&self.piece);
            self.length = self.length.saturating_add(self.piece.len() as u64);
        }
        let rest = &self.piece[self.at..];
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

/// How many bytes come out, counted until there are more than `limit`.
fn count(reader: &mut dyn Read, limit: u64) -> io::Result<u64> {
    let (mut share, mut length) = (vec![0; SHARE], 0_u64);
    loop {
        match reader.read(&mut share)? {
            0 => return Ok(length),
            got => length += got as u64,
        }
        if length > limit {
            return Ok(length);
        }
    }
}

/// Whether an attachment agrees with its list. Its chunks are counted.
pub(crate) fn check_attachment(
    snapshot: &Snapshot,
    attachment: &Attachment,
    chunk_stats: &mut ChunkStats,
) -> Result<(), Trouble> {
    let first = attachment.chunks.first().map(|chunk| chunk.offset);
    let mut stored = Stored {
        snapshot,
        chunks: attachment.chunks.iter(),
        piece: Vec::new(),
        at: 0,
        chunk_stats,
        md5: Md5::new(),
        length: 0,
        trouble: None,
    };
    let plain = match attachment.is_gzip {
        true => count(&mut MultiGzDecoder::new(&mut stored), attachment.length),
        false => Ok(attachment.length),
    };
    // Bytes that the decoder has left, or all of them.
    let rest = count(&mut stored, u64::MAX);
    if let Some(trouble) = stored.trouble {
        return Err(trouble);
    }
    let wrong = |reason: &str| Err(Trouble::new(first, reason));
    if rest.is_err() || stored.length != attachment.stored_length {
        return wrong("its pieces have another length than the list says");
    }
    if stored.md5.finalize()[..] != attachment.md5 {
        return wrong("its MD5 is not the one in the list");
    }
    match plain {
        Err(_) => wrong("it is no whole gzip file"),
        Ok(length) if length != attachment.length => {
            wrong("it unpacks to another length than the list says")
        }
        Ok(_) if !attachment.is_gzip && attachment.length != attachment.stored_length => {
            wrong("the list gives two lengths for what is not packed")
        }
        Ok(_) => Ok(()),
    }
}
