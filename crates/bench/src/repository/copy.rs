//! The manifest at other settings, in a temporary directory.

use super::history::History;
use crate::BenchError;
use crate::measuring::{Rounds, ScratchDirectory, timed};
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, OpenMode, Storage};
use varve_codec::EngineSetting;
use varve_repo::Repository;
use varve_revlog::chunk::Packer;
use varve_revlog::{
    Appender, Content, Entry, Header, NewRevision, Rev, RevisionHints, Revlog, WriteOptions,
};

/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 20;

/// Copies of the manifest in a temporary directory beside the store.
#[derive(Debug)]
pub(crate) struct Copies<'h> {
    directory: ScratchDirectory,
    history: &'h History,
}

impl<'h> Copies<'h> {
    pub fn create(repository: &Repository, history: &'h History) -> Result<Self, BenchError> {
        let hg = repository.root().join(".hg");
        Ok(Copies {
            directory: ScratchDirectory::create(repository.storage(), &hg)?,
            history,
        })
    }

    pub fn storage(&self) -> &Arc<dyn Storage> {
        self.directory.storage()
    }

    /// Writes the manifest with the chunks that `revs` are made of compressed at this setting. Other chunks stay as
    /// they are; nothing reads them.
    pub fn write(
        &self,
        setting: EngineSetting,
        revs: &[Rev],
        rounds: &Rounds<'_>,
    ) -> Result<Revlog, BenchError> {
        let manifest = &self.history.manifest;
        let is_needed = needed(manifest, revs);
        let path = self.directory.path().join(format!("{setting}.i"));
        let storage = self.storage();
        let failed = |source| BenchError::Codec {
            setting,
            op: "compress",
            chunk: 0,
            source,
        };
        let mut packer = Packer::new(setting).map_err(failed)?;
        let data = storage.open(&path.with_extension("d"), OpenMode::CreateNew)?;
        let (mut index, mut chunks, mut offset) = (Vec::new(), Vec::new(), 0u64);
        let (mut reader, mut raw) = (manifest.reader(), Vec::new());
        for rev in manifest.revs() {
            rounds.interrupt.check()?;
            let start = chunks.len();
            if is_needed[rev.index()] {
                reader.stored_delta(rev, &mut raw)?;
                packer.pack(&raw, &mut chunks).map_err(failed)?;
            } else {
                chunks.extend_from_slice(reader.stored_chunk(rev)?);
            }
            let stored = chunks.len() - start;
            let entry = Entry {
                offset,
                stored_len: u32::try_from(stored).unwrap_or(u32::MAX),
                ..manifest.entry(rev)
            };
            offset += stored as u64;
            index.extend_from_slice(&encode(entry, rev, manifest.header()));
            if chunks.len() > AT_ONCE {
                data.append(&chunks)?;
                chunks.clear();
            }
        }
        data.append(&chunks)?;
        storage.open(&path, OpenMode::CreateNew)?.append(&index)?;
        Ok(Revlog::open(storage, &path)?)
    }
}

/// An entry of an index whose chunks lie in another file.
fn encode(entry: Entry, rev: Rev, header: Header) -> Vec<u8> {
    let mut bytes = entry.encode().to_vec();
    if rev.0 == 0 {
        let split = Header {
            inline: false,
            ..header
        };
        bytes[..Header::LEN].copy_from_slice(&split.encode());
    }
    bytes
}

/// By revision: part of the chain of one of `revs`.
fn needed(revlog: &Revlog, revs: &[Rev]) -> Vec<bool> {
    let mut needed = vec![false; revlog.len()];
    for rev in revs {
        let mut next = Some(*rev);
        while let Some(rev) = next.filter(|rev| !needed[rev.index()]) {
            needed[rev.index()] = true;
            next = revlog.delta_parent(rev);
        }
    }
    needed
}

/// The newest revisions, to be written anew behind those before them, in memory.
pub(crate) struct Rewriting<'c> {
    pub storage: &'c Arc<dyn Storage>,
    pub manifest: &'c Revlog,
    pub newest: &'c [Rev],
    pub how: WriteOptions,
}

impl Rewriting<'_> {
    /// Seconds of choosing deltas and compressing them; the texts are read outside of that. With `check`, the
    /// revisions are then read back.
    pub fn write(&self, check: bool, interrupt: &Interrupt) -> Result<f64, BenchError> {
        let Some(first) = self.newest.first() else {
            return Ok(0.0);
        };
        let (path, kept): (&Path, usize) = (self.manifest.path(), first.index());
        let content = Content::Manifest;
        let mut appender = Appender::open_truncated(self.storage, path, content, self.how, kept)?;
        let (mut reader, mut seconds) = (self.manifest.reader(), 0.0);
        for rev in self.newest {
            interrupt.check()?;
            let [p1, p2] = self.manifest.parents(*rev);
            let new = NewRevision {
                text: reader.text(*rev)?,
                p1,
                p2,
                link: Rev(u32::try_from(self.manifest.linkrev(*rev)).unwrap_or(0)),
            };
            let hints = RevisionHints {
                node: Some(self.manifest.node(*rev)),
                ..RevisionHints::default()
            };
            seconds += timed(|| {
                appender.add_with_hints(&new, &hints)?;
                Ok(())
            })?;
        }
        let mut readable = self.newest.iter().filter(|_| check);
        // Each is checked against its node.
        readable.try_for_each(|rev| -> Result<(), BenchError> {
            interrupt.check()?;
            appender.text(*rev)?;
            Ok(())
        })?;
        Ok(seconds)
    }
}
