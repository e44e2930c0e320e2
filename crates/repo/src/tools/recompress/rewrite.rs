//! One revlog, written again.

use super::RecompressOptions;
use super::walk::StoredRevlog;
use crate::format::RepoError;
use crate::format::context::RepoContext;
use std::path::Path;
use std::sync::Arc;
use varve_base::storage::read_if_there;
use varve_base::{Interrupt, MemoryStorage, Progress, Storage};
use varve_revlog::{
    Appender, AppenderState, Content, Entry, Header, LONGEST_INLINE, NewRevision, ReaderState, Rev,
    RevisionHints, Revlog, RevlogError, chunk::Packer, flag,
};
use xxhash_rust::xxh3::xxh3_128;

/// Revlogs with more revisions are read back by all threads at the end, so that no one is left
/// alone with the longest.
const MANY: usize = 2000;

/// Parameters that all threads share.
pub(super) struct Rewriter<'a> {
    pub context: &'a RepoContext,
    /// The directory of the new store.
    pub new: &'a Path,
    pub how: &'a RecompressOptions,
    pub progress: &'a dyn Progress,
    pub stop: &'a Interrupt,
}

/// Contexts and buffers that one thread reuses.
pub(super) struct Tools {
    packer: Packer,
    reader: ReaderState,
    appender: AppenderState,
}

/// One revlog as it is now.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub revisions: usize,
    pub bytes: u64,
    pub has_data: bool,
    /// The rest that must be read back.
    pub unchecked: Option<Unchecked>,
}

/// A revlog that was written and not read back yet.
#[derive(Debug)]
pub(super) struct Unchecked {
    log: StoredRevlog,
    /// Fingerprints of the input by revision: of the text, or of the delta where deltas stay.
    prints: Vec<u128>,
}

/// The files of a revlog.
#[derive(Debug, Default)]
struct Files {
    index: Vec<u8>,
    data: Option<Vec<u8>>,
}

impl Rewriter<'_> {
    pub fn tools(&self) -> Result<Tools, RepoError> {
        let packer = Packer::new(self.how.write.engine);
        let packer = packer.map_err(|source| RevlogError::Compress {
            path: self.new.to_owned(),
            source,
        })?;
        Ok(Tools {
            packer,
            reader: ReaderState::default(),
            appender: AppenderState::default(),
        })
    }

    /// Writes a revlog and reads it back.
    pub fn rewrite(&self, log: &StoredRevlog, tools: &mut Tools) -> Result<Rewritten, RepoError> {
        self.stop.check()?;
        let old = self.open(&self.context.store(), log)?;
        let mut written = Unchecked {
            log: log.clone(),
            prints: Vec::with_capacity(old.len()),
        };
        let files = if old.is_empty() {
            Files::default()
        } else if self.how.redelta {
            self.append_all(&old, &mut written, tools)?
        } else {
            self.repack(&old, &mut written, tools)?
        };
        let mut bytes = files.index.len();
        let has_data = files.data.is_some();
        if let Some(data) = files.data {
            bytes += data.len();
            super::write_new(self.context, &self.new.join(&log.data), &data)?;
        }
        super::write_new(self.context, &self.new.join(&log.index), &files.index)?;
        // Deltas alone are soon read.
        let later = self.how.redelta && old.len() > MANY;
        if !later {
            self.check(&old, &written, tools)?;
        }
        // The rest of the entries, which no chunk accounts for.
        self.progress
            .advance(log.len.saturating_sub(old.data_len()));
        Ok(Rewritten {
            revisions: old.len(),
            bytes: bytes as u64,
            has_data,
            unchecked: later.then_some(written),
        })
    }

    /// Opens a revlog of the old or the new store.
    fn open(&self, store: &Path, log: &StoredRevlog) -> Result<Revlog, RepoError> {
        let opened = Revlog::open(&self.context.storage, &store.join(&log.index))?;
        Ok(opened.with_data(store.join(&log.data)))
    }

    /// The same deltas in other chunks.
    fn repack(
        &self,
        old: &Revlog,
        written: &mut Unchecked,
        tools: &mut Tools,
    ) -> Result<Files, RepoError> {
        let mut reader = old.reader_with(std::mem::take(&mut tools.reader));
        let (mut entries, mut chunks) = (Vec::with_capacity(old.len()), Vec::new());
        let mut raw = Vec::new();
        for rev in old.revs() {
            self.stop.check()?;
            reader.stored_delta(rev, &mut raw)?;
            written.prints.push(xxh3_128(&raw));
            let start = chunks.len();
            let failed = |source| RevlogError::Compress {
                path: old.path().to_owned(),
                source,
            };
            tools.packer.pack(&raw, &mut chunks).map_err(failed)?;
            let before = old.entry(rev);
            entries.push(Entry {
                offset: start as u64,
                stored_len: u32::try_from(chunks.len() - start).unwrap_or(u32::MAX),
                ..before
            });
            self.progress.advance(u64::from(before.stored_len));
        }
        tools.reader = reader.into_state();
        Ok(lay_out(old.header(), &entries, chunks))
    }

    /// All texts, given to an appender that seeks deltas anew. It writes into memory: the store's
    /// files are then written whole and without a sync for each.
    fn append_all(
        &self,
        old: &Revlog,
        written: &mut Unchecked,
        tools: &mut Tools,
    ) -> Result<Files, RepoError> {
        let path = written.log.index.as_path();
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let content = match path.to_str() {
            Some("00changelog.i") => Content::Changelog,
            Some("00manifest.i") => Content::Manifest,
            _ => Content::File,
        };
        let state = std::mem::take(&mut tools.appender);
        let mut appender = Appender::open_with(&memory, path, content, self.how.write, state)?;
        let mut reader = old.reader_with(std::mem::take(&mut tools.reader));
        for rev in old.revs() {
            self.stop.check()?;
            let entry = old.entry(rev);
            let link = Rev::from_disk(entry.link).flatten();
            let link = link.ok_or_else(|| self.refuse(old, rev, "belongs to no changeset"))?;
            let (p1, p2) = (entry.p1, entry.p2);
            let text = reader.unchecked_text(rev)?;
            written.prints.push(xxh3_128(text));
            let new = NewRevision { text, p1, p2, link };
            let given = RevisionHints {
                node: Some(entry.node),
                flags: entry.flags & (flag::CENSORED | flag::ELLIPSIS | flag::STORED_OUTSIDE),
                delta: None,
            };
            let (got, _) = appender.add_with_hints(&new, &given)?;
            if got != rev {
                return Err(self.refuse(old, rev, "has the node of an earlier one"));
            }
            self.progress.advance(u64::from(entry.stored_len));
        }
        tools.reader = reader.into_state();
        (_, tools.appender) = appender.write_and_reuse()?;
        let index = read_if_there(memory.as_ref(), path)?.unwrap_or_default();
        let data = read_if_there(memory.as_ref(), &path.with_extension("d"))?;
        Ok(Files { index, data })
    }

    fn refuse(&self, old: &Revlog, rev: Rev, reason: &str) -> RepoError {
        RepoError::CannotRecompress {
            path: old.path().to_owned(),
            reason: format!("revision {rev} {reason}"),
        }
    }

    /// Reads a long revlog back.
    pub fn check_long(&self, written: &Unchecked, threads: usize) -> Result<(), RepoError> {
        let old = self.open(&self.context.store(), &written.log)?;
        let new = self.open(self.new, &written.log)?;
        self.check_entries(&old, &new)?;
        let revs: Vec<Rev> = new.revs().collect();
        new.for_each_unchecked_text(&revs, threads, &|rev, text| {
            self.stop.check()?;
            self.compare(&old, rev, text, &written.prints)
        })
    }

    /// Checks that the new revlog has the entries and texts of the old one.
    fn check(&self, old: &Revlog, written: &Unchecked, tools: &mut Tools) -> Result<(), RepoError> {
        let new = self.open(self.new, &written.log)?;
        self.check_entries(old, &new)?;
        let mut reader = new.reader_with(std::mem::take(&mut tools.reader));
        let mut raw = Vec::new();
        for rev in new.revs() {
            self.stop.check()?;
            if self.how.redelta {
                self.compare(old, rev, reader.unchecked_text(rev)?, &written.prints)?;
            } else {
                reader.stored_delta(rev, &mut raw)?;
                self.compare(old, rev, &raw, &written.prints)?;
            }
        }
        tools.reader = reader.into_state();
        Ok(())
    }

    /// Every entry has the same fields as before, and with the same deltas also the same bases.
    fn check_entries(&self, old: &Revlog, new: &Revlog) -> Result<(), RepoError> {
        let facts = |log: &Revlog, rev| {
            let entry = log.entry(rev);
            let kept = flag::CENSORED | flag::ELLIPSIS | flag::STORED_OUTSIDE;
            let base = (!self.how.redelta).then_some(entry.base);
            let (parents, flags) = ((entry.p1, entry.p2), entry.flags & kept);
            (entry.node, parents, entry.link, flags, base)
        };
        if new.len() != old.len() {
            return Err(self.refuse(old, Rev(new.len() as u32), "was not written"));
        }
        match old.revs().find(|rev| facts(old, *rev) != facts(new, *rev)) {
            Some(rev) => Err(self.refuse(old, rev, "was written with other parents or name")),
            None => Ok(()),
        }
    }

    fn compare(
        &self,
        old: &Revlog,
        rev: Rev,
        bytes: &[u8],
        prints: &[u128],
    ) -> Result<(), RepoError> {
        if prints.get(rev.index()) == Some(&xxh3_128(bytes)) {
            return Ok(());
        }
        Err(self.refuse(old, rev, "does not read back as it was"))
    }
}

/// The files of a revlog with these entries and chunks. An inline revlog stays so as long as it is
/// short.
fn lay_out(header: Header, entries: &[Entry], chunks: Vec<u8>) -> Files {
    let inline = header.inline && chunks.len() < LONGEST_INLINE;
    let header = Header { inline, ..header };
    let mut index = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let mut bytes = entry.encode();
        if number == 0 {
            bytes[..Header::LEN].copy_from_slice(&header.encode());
        }
        index.extend_from_slice(&bytes);
        if inline {
            let start = entry.offset as usize;
            index.extend_from_slice(&chunks[start..start + entry.stored_len as usize]);
        }
    }
    Files {
        index,
        data: (!inline).then_some(chunks),
    }
}

#[cfg(test)]
mod tests;
