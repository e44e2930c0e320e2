//! From gathered revisions to files.

use crate::append::{Appender, AppenderState};
use crate::entry::{ENTRY_LEN, Entry, Header};
use crate::{Rev, RevlogError};
use std::path::Path;
use varve_base::storage::replace;
use varve_base::{OpenMode, Storage};

/// Bytes that are copied at a time.
const SPAN: u64 = 1 << 20;

/// Effect of [`Appender::write`] on the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The index file was not there before.
    pub created: bool,
    /// There is a data file now that was not there before.
    pub split: bool,
}

impl Appender {
    /// Adds all gathered revisions to the files and syncs them. Directories are made as needed; the
    /// caller syncs them.
    ///
    /// # Errors
    /// Errors of the storage. The bytes written until then are behind the end of the index's
    /// last chunk, or invisible to readers of an older changelog.
    pub fn write(self) -> Result<Written, RevlogError> {
        self.write_files(true)
    }

    /// The same; gives besides the state for the next appender.
    ///
    /// # Errors
    /// See [`Appender::write`].
    pub fn write_and_reuse(self) -> Result<(Written, AppenderState), RevlogError> {
        let written = self.write_files(true)?;
        Ok((written, self.into_state()))
    }

    /// As [`Appender::write_and_reuse`], without a sync: for many revlogs, after which the caller
    /// syncs everything before it counts.
    ///
    /// # Errors
    /// See [`Appender::write`].
    pub fn write_unsynced(self) -> Result<(Written, AppenderState), RevlogError> {
        let written = self.write_files(false)?;
        Ok((written, self.into_state()))
    }

    fn write_files(&self, sync: bool) -> Result<Written, RevlogError> {
        if !self.has_new_revisions() {
            return Ok(Written::default());
        }
        let created = self.written == 0;
        if created && let Some(directory) = self.path().parent() {
            self.storage.create_directory(directory)?;
        }
        let newly_split = self.will_be_split() && (self.is_inline() || created);
        if !self.is_inline() {
            self.append_split(sync)?;
        } else if newly_split {
            self.write_newly_split(sync)?;
        } else {
            let entries = self.encode(self.written, self.revlog.header());
            let (len, _) = self.lengths_before();
            append_at(self.storage.as_ref(), self.path(), len, &entries, sync)?;
        }
        Ok(Written {
            created,
            split: newly_split,
        })
    }

    /// Previews [`Appender::write`]: writes the index as it will be to the file `beside`,
    /// and the chunks of a split revlog where they belong, behind the end of its index's last chunk.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn write_pending_index(&self, beside: &Path) -> Result<(), RevlogError> {
        let storage = self.storage.as_ref();
        let is_split = self.will_be_split();
        if is_split {
            self.append_chunks(true)?;
        }
        let header = Header {
            inline: !is_split,
            ..self.revlog.header()
        };
        Ok(replace(storage, beside, &self.encode(0, header))?)
    }

    /// Replaces the files by ones that end with the gathered revisions, for a revlog that was opened
    /// with [`Appender::open_truncated`]: nothing is changed within a file, so that second names of the
    /// old ones keep their content.
    ///
    /// # Errors
    /// Errors of the storage. Index and data file may then be of different states.
    pub fn rewrite(self) -> Result<(), RevlogError> {
        let header = Header {
            inline: !self.will_be_split(),
            ..self.revlog.header()
        };
        if !header.inline {
            self.rewrite_data()?;
        }
        let index = self.encode(0, header);
        Ok(replace(self.storage.as_ref(), self.path(), &index)?)
    }

    fn rewrite_data(&self) -> Result<(), RevlogError> {
        let (storage, path) = (self.storage.as_ref(), self.data_path());
        let beside = path.with_extension("d.new");
        if storage.kind(&beside)?.is_some() {
            storage.remove(&beside)?;
        }
        let new = storage.open(&beside, OpenMode::CreateNew)?;
        if self.is_inline() {
            new.append(self.revlog.index().inline_chunks())?;
        } else {
            let (mut at, end) = (0, self.data_len_before());
            while at < end {
                let piece = SPAN.min(end - at);
                new.append(&self.revlog.data_file()?.read_vec(at, piece as usize)?)?;
                at += piece;
            }
            new.append(self.revlog.pending().0)?;
        }
        new.sync()?;
        Ok(storage.rename(&beside, path)?)
    }

    /// The entries from the revision `from` on, with their chunks between them if inline.
    fn encode(&self, from: usize, header: Header) -> Vec<u8> {
        let revs = from..self.len();
        let mut out = Vec::with_capacity(revs.len() * ENTRY_LEN);
        for number in revs {
            let entry = self.revlog.entry(Rev(number as u32));
            out.extend_from_slice(&encode_entry(&entry, number == 0, header));
            if header.inline {
                let start = entry.offset as usize;
                let chunks = self.revlog.index().inline_chunks();
                out.extend_from_slice(&chunks[start..start + entry.stored_len as usize]);
            }
        }
        out
    }

    fn append_split(&self, sync: bool) -> Result<(), RevlogError> {
        self.append_chunks(sync)?;
        let (index_len, _) = self.lengths_before();
        let entries = self.encode(self.written, self.revlog.header());
        append_at(
            self.storage.as_ref(),
            self.path(),
            index_len,
            &entries,
            sync,
        )
    }

    /// Takes an inline revlog apart. The new index replaces the old one in one step; until then
    /// the data file means nothing.
    fn write_newly_split(&self, sync: bool) -> Result<(), RevlogError> {
        let header = Header {
            inline: false,
            ..self.revlog.header()
        };
        let storage = self.storage.as_ref();
        let replaces = self.written > 0;
        self.append_chunks(sync || replaces)?;
        let index = self.encode(0, header);
        if replaces && let Some(directory) = self.path().parent() {
            // The old index goes away at once, and with it the only way to its chunks.
            storage.sync_directory(directory)?;
        }
        if sync || replaces {
            return Ok(replace(storage, self.path(), &index)?);
        }
        append_at(storage, self.path(), 0, &index, false)
    }

    /// Adds the chunks that are in memory to the data file.
    fn append_chunks(&self, sync: bool) -> Result<(), RevlogError> {
        let (chunks, start) = if self.revlog.header().inline {
            (self.revlog.index().inline_chunks(), 0)
        } else {
            self.revlog.pending()
        };
        append_at(self.storage.as_ref(), self.data_path(), start, chunks, sync)
    }

    /// See [`Appender::spill`].
    pub(crate) fn write_pending(&self) -> Result<(), RevlogError> {
        self.append_chunks(false)
    }
}

fn encode_entry(entry: &Entry, first: bool, header: Header) -> [u8; ENTRY_LEN] {
    let mut bytes = entry.encode();
    if first {
        bytes[..Header::LEN].copy_from_slice(&header.encode());
    }
    bytes
}

/// Adds bytes at `len`, which is where the file should end; bytes of an interrupted writer
/// behind it are cut off.
fn append_at(
    storage: &dyn Storage,
    path: &Path,
    len: u64,
    bytes: &[u8],
    sync: bool,
) -> Result<(), RevlogError> {
    let file = match storage.open(path, OpenMode::Append) {
        Err(error) if error.is_not_found() => storage.open(path, OpenMode::CreateNew)?,
        other => other?,
    };
    let found = file.len()?;
    if found < len {
        return Err(RevlogError::CannotAppend {
            path: path.to_owned(),
            reason: format!("the file has {found} bytes where the index tells of {len}"),
        });
    }
    if found > len {
        file.truncate(len)?;
    }
    file.append(bytes)?;
    if sync {
        file.sync()?;
    }
    Ok(())
}
