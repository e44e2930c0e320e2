//! The work that is timed.

use super::Options;
use crate::BenchError;
use crate::measuring::timed;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::EntryKind;
use varve_base::{Interrupt, MemoryStorage, Storage};
use varve_codec::{CodecId, EngineSetting, Expander};
use varve_repo::{Repository, StorageSettings};
use varve_revlog::{
    Appender, Content, ENTRY_LEN, NewRevision, ReaderState, Rev, RevisionHints, Revlog,
    WriteOptions,
};

/// One kind of work.
pub(super) struct Workload<'w> {
    pub name: &'static str,
    pub threads: usize,
    pub revisions: usize,
    /// Does it once; returns seconds.
    pub run: Box<dyn Fn() -> Result<f64, BenchError> + 'w>,
}

pub(super) struct Bench<'b> {
    manifest: Revlog,
    changelog: Revlog,
    all: Vec<Revlog>,
    write: WriteOptions,
    options: &'b Options,
    interrupt: &'b Interrupt,
    /// Stored bytes of the manifests that were written last.
    written: Cell<u64>,
}

impl<'b> Bench<'b> {
    pub(super) fn open(
        storage: &Arc<dyn Storage>,
        repository: &Repository,
        options: &'b Options,
        interrupt: &'b Interrupt,
    ) -> Result<Self, BenchError> {
        let store = repository.root().join(".hg/store");
        let open = |name: &str| Revlog::open_or_empty(storage, &store.join(name));
        Ok(Bench {
            manifest: open("00manifest.i")?,
            changelog: open("00changelog.i")?,
            all: all_revlogs(storage, &store)?,
            write: StorageSettings::default().write_options(repository.requirements()),
            options,
            interrupt,
            written: Cell::new(0),
        })
    }

    /// Codec and level of written chunks.
    pub(super) fn engine(&self) -> EngineSetting {
        self.write.engine
    }

    /// Stored bytes of the manifests that were written, and of those of the repository.
    pub(super) fn written(&self) -> (u64, u64) {
        let (_, base) = self.first_write();
        (self.written.get(), self.manifest.data_len() - base)
    }

    /// All kinds of work, with one thread and where that can be with several.
    pub(super) fn works(&self) -> Result<Vec<Workload<'_>>, BenchError> {
        let manifests: Vec<Rev> = self.manifest.revs().collect();
        let last = &manifests[manifests.len().saturating_sub(self.options.last)..];
        let in_reverse = last.iter().rev().copied().collect();
        let some = manifests.iter().step_by(50).copied().collect();
        let changesets = self.changelog.revs().collect();
        let mut works = Vec::new();
        works.extend(self.read("manifests in order", &self.manifest, last.to_vec()));
        works.extend(self.read("manifests in reverse", &self.manifest, in_reverse));
        works.extend(self.read("every 50th manifest", &self.manifest, some));
        works.extend(self.read("changesets", &self.changelog, changesets));
        let chunks = self.all.iter().map(Revlog::len).sum();
        works.push(Workload {
            name: "all chunks",
            threads: 1,
            revisions: chunks,
            run: Box::new(|| self.all_chunks()),
        });
        works.push(Workload {
            name: "all chunks, codec alone",
            threads: 1,
            revisions: chunks,
            run: Box::new(|| self.by_codec_alone()),
        });
        let (from, base) = self.first_write();
        let before = self.cut_at(from, base)?;
        works.push(Workload {
            name: "write manifests",
            threads: 1,
            revisions: self.manifest.len() - from,
            run: Box::new(move || self.write_manifests(&before)),
        });
        Ok(works)
    }

    fn read<'w>(
        &'w self,
        name: &'static str,
        revlog: &'w Revlog,
        revs: Vec<Rev>,
    ) -> impl Iterator<Item = Workload<'w>> {
        [1, self.options.threads].into_iter().map(move |threads| {
            let revs = revs.clone();
            Workload {
                name,
                threads,
                revisions: revs.len(),
                run: Box::new(move || {
                    let each = |_: Rev, _: &[u8]| -> Result<(), BenchError> {
                        self.interrupt.check()?;
                        Ok(())
                    };
                    timed(|| revlog.for_each_text(&revs, threads, &each))
                }),
            }
        })
    }

    fn all_chunks(&self) -> Result<f64, BenchError> {
        let mut out = Vec::new();
        timed(|| {
            let mut state = ReaderState::default();
            for revlog in &self.all {
                self.interrupt.check()?;
                let mut reader = revlog.reader_with(state);
                for rev in revlog.revs() {
                    reader.stored_delta(rev, &mut out)?;
                }
                state = reader.into_state();
            }
            Ok(())
        })
    }

    /// The codec's own calls on the same chunks, read before the clock starts.
    fn by_codec_alone(&self) -> Result<f64, BenchError> {
        let (mut expander, mut out, mut seconds) = (Expander::new(), Vec::new(), 0.0);
        for revlog in &self.all {
            self.interrupt.check()?;
            let mut reader = revlog.reader();
            let mut chunks = Vec::with_capacity(revlog.len());
            for rev in revlog.revs() {
                chunks.push(reader.stored_chunk(rev)?.to_vec());
            }
            seconds += timed(|| {
                for (number, chunk) in chunks.iter().enumerate() {
                    let codec = match chunk.first() {
                        Some(b'x') => CodecId::Zlib,
                        Some(b'(') => CodecId::Zstd,
                        _ => CodecId::None,
                    };
                    out.clear();
                    let expanded = expander.expand(codec, chunk, usize::MAX, &mut out);
                    expanded.map_err(|source| BenchError::Codec {
                        setting: self.write.engine,
                        op: "expand",
                        chunk: number,
                        source,
                    })?;
                }
                Ok(())
            })?;
        }
        Ok(seconds)
    }

    /// The first manifest that is written anew, and the bytes of data before it.
    fn first_write(&self) -> (usize, u64) {
        let revlog = &self.manifest;
        let from = revlog.len().saturating_sub(self.options.writes);
        let newest = revlog.revs().skip(from).map(|rev| stored(revlog, rev));
        (from, revlog.data_len() - newest.sum::<u64>())
    }

    fn write_manifests(&self, before: &[(PathBuf, Vec<u8>)]) -> Result<f64, BenchError> {
        let revlog = &self.manifest;
        let (from, base) = self.first_write();
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(before.to_vec()));
        let path = Path::new(COPY).with_extension("i");
        let mut appender = Appender::open(&storage, &path, Content::Manifest, self.write)?;
        let (mut reader, mut seconds) = (revlog.reader(), 0.0);
        for rev in revlog.revs().skip(from) {
            self.interrupt.check()?;
            let [p1, p2] = revlog.parents(rev);
            let new = NewRevision {
                text: reader.text(rev)?,
                p1,
                p2,
                link: Rev(u32::try_from(revlog.linkrev(rev)).unwrap_or(0)),
            };
            let given = RevisionHints {
                node: Some(revlog.node(rev)),
                ..RevisionHints::default()
            };
            seconds += timed(|| {
                appender.add_with_hints(&new, &given)?;
                Ok(())
            })?;
        }
        seconds += timed(|| {
            appender.write()?;
            Ok(())
        })?;
        let len = Revlog::open(&storage, &path)?.data_len();
        self.written.set(len - base);
        Ok(seconds)
    }

    /// Files of the manifest as they were before the revision `from`, whose chunk begins at
    /// `data_len`.
    fn cut_at(&self, from: usize, data_len: u64) -> Result<Vec<(PathBuf, Vec<u8>)>, BenchError> {
        let revlog = &self.manifest;
        let mut reader = revlog.reader();
        let (mut index, mut data) = (Vec::new(), Vec::new());
        for rev in revlog.revs().take(from) {
            let mut entry = revlog.entry(rev).encode();
            if rev.0 == 0 {
                let split = varve_revlog::Header {
                    inline: false,
                    ..revlog.header()
                };
                entry[..4].copy_from_slice(&split.encode());
            }
            index.extend_from_slice(&entry);
            data.extend_from_slice(reader.stored_chunk(rev)?);
        }
        debug_assert_eq!(index.len(), from * ENTRY_LEN);
        data.truncate(usize::try_from(data_len).unwrap_or(usize::MAX));
        let path = Path::new(COPY);
        Ok(vec![
            (path.with_extension("i"), index),
            (path.with_extension("d"), data),
        ])
    }
}

/// Name of the copy that is written to, in memory.
const COPY: &str = "00manifest";

fn stored(revlog: &Revlog, rev: Rev) -> u64 {
    u64::from(revlog.entry(rev).stored_len)
}

fn all_revlogs(storage: &Arc<dyn Storage>, store: &Path) -> Result<Vec<Revlog>, BenchError> {
    let (mut directories, mut found) = (vec![store.to_owned()], Vec::new());
    while let Some(directory) = directories.pop() {
        for entry in storage.list(&directory)? {
            let path = directory.join(&entry.name);
            let is_index = path.extension().is_some_and(|extension| extension == "i");
            match entry.kind {
                EntryKind::Directory => directories.push(path),
                EntryKind::File if is_index => found.push(Revlog::open(storage, &path)?),
                EntryKind::File | EntryKind::Other => {}
            }
        }
    }
    Ok(found)
}
