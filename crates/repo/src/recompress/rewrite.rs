//! One revlog, written again.

use super::Recompress;
use crate::RepoError;
use crate::repository::Shared;
use std::path::Path;
use std::sync::Arc;
use varve_base::storage::read_if_there;
use varve_base::{Interrupt, MemoryStorage, Progress, Storage};
use varve_revlog::{
    Appender, Content, Entry, Given, Header, LONGEST_INLINE, NewRevision, ReaderState, Rev, Revlog,
    RevlogError, chunk::Packer, flag,
};

/// Revlogs with more revisions are read back by all threads at the end, so that no one is left
/// alone with the longest.
const MANY: usize = 2000;

/// What threads that rewrite have in common.
pub(super) struct Rewriter<'a> {
    pub shared: &'a Shared,
    /// The folder of the new store.
    pub new: &'a Path,
    pub how: &'a Recompress,
    pub progress: &'a dyn Progress,
    pub stop: &'a Interrupt,
}

/// What one thread keeps from revlog to revlog.
pub(super) struct Tools {
    packer: Packer,
    state: ReaderState,
}

/// One revlog as it is now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rewritten {
    pub revisions: usize,
    pub bytes: u64,
    pub has_data: bool,
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
            state: ReaderState::default(),
        })
    }

    /// Writes the revlog at `path`, which has `len` bytes now, and reads it back.
    pub fn rewrite(
        &self,
        path: &Path,
        len: u64,
        tools: &mut Tools,
    ) -> Result<Rewritten, RepoError> {
        self.stop.check()?;
        let old = Revlog::open(&self.shared.storage, &self.shared.store().join(path))?;
        let files = if old.is_empty() {
            Files::default()
        } else if self.how.redelta {
            self.append_all(&old, path, tools)?
        } else {
            self.repack(&old, tools)?
        };
        let target = self.new.join(path);
        let mut bytes = files.index.len();
        let has_data = files.data.is_some();
        if let Some(data) = files.data {
            bytes += data.len();
            super::write_new(self.shared, &target.with_extension("d"), &data)?;
        }
        super::write_new(self.shared, &target, &files.index)?;
        if old.len() <= MANY {
            self.check(&old, path, tools)?;
        }
        // The rest of the entries, which no chunk accounts for.
        self.progress.advance(len.saturating_sub(old.data_len()));
        Ok(Rewritten {
            revisions: old.len(),
            bytes: bytes as u64,
            has_data,
        })
    }

    /// The same deltas in other chunks.
    fn repack(&self, old: &Revlog, tools: &mut Tools) -> Result<Files, RepoError> {
        let mut reader = old.reader_with(std::mem::take(&mut tools.state));
        let (mut entries, mut chunks) = (Vec::with_capacity(old.len()), Vec::new());
        let mut raw = Vec::new();
        for rev in old.revs() {
            self.stop.check()?;
            reader.stored_delta(rev, &mut raw)?;
            let start = chunks.len();
            tools
                .packer
                .pack(&raw, &mut chunks)
                .map_err(|source| RevlogError::Compress {
                    path: old.path().to_owned(),
                    source,
                })?;
            let before = old.entry(rev);
            entries.push(Entry {
                offset: start as u64,
                stored_len: u32::try_from(chunks.len() - start).unwrap_or(u32::MAX),
                ..before
            });
            self.progress.advance(u64::from(before.stored_len));
        }
        tools.state = reader.into_state();
        Ok(lay_out(old.header(), &entries, chunks))
    }

    /// All texts, given to an appender that seeks deltas anew. It writes into memory: the store's
    /// files are then written whole and without a sync for each.
    fn append_all(&self, old: &Revlog, path: &Path, tools: &mut Tools) -> Result<Files, RepoError> {
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let content = match path.to_str() {
            Some("00changelog.i") => Content::Changelog,
            Some("00manifest.i") => Content::Manifest,
            _ => Content::File,
        };
        let mut appender = Appender::open(&memory, path, content, self.how.write)?;
        let mut reader = old.reader_with(std::mem::take(&mut tools.state));
        for rev in old.revs() {
            self.stop.check()?;
            let entry = old.entry(rev);
            let link = Rev::from_disk(entry.link).flatten();
            let link = link.ok_or_else(|| self.refuse(old, rev, "belongs to no changeset"))?;
            let (p1, p2) = (entry.p1, entry.p2);
            let text = reader.unchecked_text(rev)?;
            let new = NewRevision { text, p1, p2, link };
            let given = Given {
                node: Some(entry.node),
                flags: entry.flags & (flag::CENSORED | flag::ELLIPSIS | flag::STORED_OUTSIDE),
                delta: None,
            };
            let (got, _) = appender.add_given(&new, &given)?;
            if got != rev {
                return Err(self.refuse(old, rev, "has the node of an earlier one"));
            }
            self.progress.advance(u64::from(entry.stored_len));
        }
        tools.state = reader.into_state();
        appender.write()?;
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

    /// Reads a revlog back that was too long for one thread.
    pub fn check_late(&self, path: &Path, threads: usize) -> Result<(), RepoError> {
        let old = Revlog::open(&self.shared.storage, &self.shared.store().join(path))?;
        if old.len() <= MANY {
            return Ok(());
        }
        let new = Revlog::open(&self.shared.storage, &self.new.join(path))?;
        self.check_entries(&old, &new)?;
        let (plain, odd): (Vec<Rev>, Vec<Rev>) = old.revs().partition(|rev| is_plain(&old, *rev));
        new.each_text(&plain, threads, &|_, _| {
            Ok::<_, RepoError>(self.stop.check()?)
        })?;
        self.check_odd(&old, &new, &odd)
    }

    /// Every text of the new revlog has the hash that its node says, and every entry says the same
    /// as before.
    fn check(&self, old: &Revlog, path: &Path, tools: &mut Tools) -> Result<(), RepoError> {
        let new = Revlog::open(&self.shared.storage, &self.new.join(path))?;
        self.check_entries(old, &new)?;
        let mut reader = new.reader_with(std::mem::take(&mut tools.state));
        let mut odd = Vec::new();
        for rev in new.revs() {
            if is_plain(old, rev) {
                reader.text(rev)?;
            } else {
                odd.push(rev);
            }
        }
        tools.state = reader.into_state();
        self.check_odd(old, &new, &odd)
    }

    fn check_entries(&self, old: &Revlog, new: &Revlog) -> Result<(), RepoError> {
        let facts = |log: &Revlog, rev| {
            let entry = log.entry(rev);
            let kept = flag::CENSORED | flag::ELLIPSIS | flag::STORED_OUTSIDE;
            let flags = entry.flags & kept;
            (entry.node, entry.p1, entry.p2, entry.link, flags)
        };
        if new.len() != old.len() {
            return Err(self.refuse(old, Rev(new.len() as u32), "was not written"));
        }
        match old.revs().find(|rev| facts(old, *rev) != facts(new, *rev)) {
            Some(rev) => Err(self.refuse(old, rev, "was written with other parents or name")),
            None => Ok(()),
        }
    }

    /// Texts that are not what their nodes say must be the same bytes as before.
    fn check_odd(&self, old: &Revlog, new: &Revlog, odd: &[Rev]) -> Result<(), RepoError> {
        let (mut before, mut after) = (old.reader(), new.reader());
        for rev in odd {
            if before.unchecked_text(*rev)? != after.unchecked_text(*rev)? {
                return Err(self.refuse(old, *rev, "was written with another text"));
            }
        }
        Ok(())
    }
}

fn is_plain(log: &Revlog, rev: Rev) -> bool {
    log.flags(rev) & !flag::HINTS == 0
}

/// The files of a revlog with these entries and chunks. What was inline stays so as long as it is
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
