//! A whole index in memory, checked once so that every later look-up is plain.

use crate::entries::Entries;
use crate::entry::{ENTRY_LEN, Entry, Header};
use crate::{Node, Rev, RevlogError};
use std::path::Path;

/// The entries of a revlog. All parents and bases come before the revision that names them.
#[derive(Debug)]
pub(crate) struct Index {
    header: Header,
    entries: Entries,
    /// The chunks of an inline revlog, without the entries between them.
    inline_chunks: Vec<u8>,
}

/// Header of a revlog without revisions, which has no bytes at all.
const EMPTY: Header = Header {
    inline: true,
    general_delta: true,
};

impl Index {
    pub fn empty() -> Index {
        Index {
            header: EMPTY,
            entries: Entries::default(),
            inline_chunks: Vec::new(),
        }
    }

    /// The same once more.
    pub fn share(&self) -> Index {
        Index {
            header: self.header,
            entries: self.entries.share(),
            inline_chunks: self.inline_chunks.clone(),
        }
    }

    /// Takes the bytes of an index file. `path` is for messages.
    pub fn parse(mut bytes: Vec<u8>, path: &Path) -> Result<Index, RevlogError> {
        let damaged = |offset: usize, reason: String| RevlogError::DamagedIndex {
            path: path.to_owned(),
            offset: offset as u64,
            reason,
        };
        if bytes.is_empty() {
            return Ok(Index::empty());
        }
        let Some(head) = bytes.first_chunk_mut::<{ Header::LEN }>() else {
            return Err(damaged(0, format!("only {} bytes", bytes.len())));
        };
        let header = Header::decode(*head).map_err(|header| RevlogError::UnknownFormat {
            path: path.to_owned(),
            header,
            flags: Header::unknown_flags(header),
        })?;
        *head = [0; Header::LEN];
        let (entries, inline_chunks) = if header.inline {
            separate(&bytes).map_err(|(at, reason)| damaged(at, reason))?
        } else {
            (bytes, Vec::new())
        };
        let cut = entries.len() % ENTRY_LEN;
        if cut != 0 {
            let reason = format!("the last entry has only {cut} of {ENTRY_LEN} bytes");
            return Err(damaged(entries.len() - cut, reason));
        }
        let index = Index {
            header,
            entries: Entries::new(entries),
            inline_chunks,
        };
        index.check(path)?;
        Ok(index)
    }

    fn check(&self, path: &Path) -> Result<(), RevlogError> {
        if i32::try_from(self.len()).is_err() {
            return Err(self.damaged(0, path, "more revisions than the format can name".into()));
        }
        for (number, bytes) in self.entries.iter().enumerate() {
            let outside = |rev: Option<Rev>| rev.is_some_and(|rev| rev.index() >= number);
            let reason = match Entry::decode(bytes) {
                Err(field) => Some(format!("revision {number} has an impossible {field}")),
                Ok(entry) if outside(entry.p1) || outside(entry.p2) => Some(format!(
                    "revision {number} has a parent that comes after it"
                )),
                Ok(entry) if entry.base.is_some_and(|base| base.index() > number) => {
                    Some(format!("revision {number} has a base that comes after it"))
                }
                Ok(entry)
                    if !self.header.general_delta
                        && number == 0
                        && entry.base.is_some_and(|base| base.index() != 0) =>
                {
                    Some("revision 0 has a base".to_owned())
                }
                Ok(entry)
                    if self.header.inline && entry.end() > self.inline_chunks.len() as u64 =>
                {
                    Some(format!("chunk of revision {number} lies outside the file"))
                }
                Ok(_) => None,
            };
            if let Some(reason) = reason {
                return Err(self.damaged(number, path, reason));
            }
        }
        Ok(())
    }

    fn damaged(&self, number: usize, path: &Path, reason: String) -> RevlogError {
        let chunks_before = if self.header.inline && number > 0 {
            self.entry(Rev(number as u32 - 1)).end()
        } else {
            0
        };
        RevlogError::DamagedIndex {
            path: path.to_owned(),
            offset: (number * ENTRY_LEN) as u64 + chunks_before,
            reason,
        }
    }
}

/// Takes the file of an inline revlog apart into entries and chunks. The offset field of an entry
/// must agree with the file's own layout, or chunks would be read from the wrong place.
fn separate(bytes: &[u8]) -> Result<(Vec<u8>, Vec<u8>), (usize, String)> {
    let (mut entries, mut chunks) = (Vec::new(), Vec::with_capacity(bytes.len()));
    let mut at = 0;
    while at < bytes.len() {
        let number = entries.len() / ENTRY_LEN;
        let Some(entry) = bytes[at..].first_chunk::<ENTRY_LEN>() else {
            let cut = bytes.len() - at;
            let reason = format!("the last entry has only {cut} of {ENTRY_LEN} bytes");
            return Err((at, reason));
        };
        let Entry {
            offset, stored_len, ..
        } = Entry::decode(entry)
            .map_err(|field| (at, format!("revision {number} has an impossible {field}")))?;
        if offset != chunks.len() as u64 {
            let found = chunks.len();
            return Err((
                at,
                format!("chunk of revision {number} is at {found}, not {offset}"),
            ));
        }
        let from = at + ENTRY_LEN;
        let chunk = bytes.get(from..from.saturating_add(stored_len as usize));
        let Some(chunk) = chunk else {
            let left = bytes.len() - from;
            return Err((
                at,
                format!("chunk of revision {number} has {left} of {stored_len} bytes"),
            ));
        };
        entries.extend_from_slice(entry);
        chunks.extend_from_slice(chunk);
        at = from + chunk.len();
    }
    Ok((entries, chunks))
}

impl Index {
    pub fn header(&self) -> Header {
        self.header
    }

    /// Only of an index without entries.
    pub fn set_header(&mut self, header: Header) {
        self.header = header;
    }

    /// Forgets all but the first `kept` entries.
    pub fn truncate(&mut self, kept: usize) {
        self.entries.truncate(kept);
        self.inline_chunks.truncate(self.data_len() as usize);
    }

    /// Adds an entry; its chunk too, if chunks stand between entries.
    pub fn push(&mut self, entry: &Entry, chunk: &[u8]) {
        self.entries.push(&entry.encode());
        if self.header.inline {
            self.inline_chunks.extend_from_slice(chunk);
        }
    }

    /// Takes the chunks out from between the entries.
    pub fn split_inline(&mut self) -> Vec<u8> {
        self.header.inline = false;
        std::mem::take(&mut self.inline_chunks)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn inline_chunks(&self) -> &[u8] {
        &self.inline_chunks
    }

    fn bytes(&self, rev: Rev) -> &[u8; ENTRY_LEN] {
        self.entries.get(rev.index())
    }

    pub fn entry(&self, rev: Rev) -> Entry {
        Entry::read(self.bytes(rev))
    }

    pub fn node(&self, rev: Rev) -> Node {
        Entry::node_of(self.bytes(rev))
    }

    /// The revision that the stored delta of `rev` is against; `None` for a full text.
    pub fn delta_parent(&self, rev: Rev) -> Option<Rev> {
        let base = self.entry(rev).base.filter(|base| *base != rev)?;
        if self.header.general_delta {
            Some(base)
        } else {
            rev.0.checked_sub(1).map(Rev)
        }
    }

    /// End of the last chunk, counting chunks only.
    pub fn data_len(&self) -> u64 {
        let last = (self.len() as u32).checked_sub(1);
        last.map_or(0, |last| self.entry(Rev(last)).end())
    }
}
