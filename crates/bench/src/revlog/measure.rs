//! The work that is timed.

use super::{Options, Row};
use crate::BenchError;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use varve_base::storage::EntryKind;
use varve_base::{Interrupt, MemoryStorage, Storage};
use varve_codec::{CodecId, EngineSetting, Expander};
use varve_repo::{Repository, StorageSettings};
use varve_revlog::{
    Appender, Content, ENTRY_LEN, NewRevision, ReaderState, Rev, RevisionHints, Revlog,
    WriteOptions,
};

/// One kind of work; see [`Bench::rows`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Workload {
    ManifestsInOrder,
    ManifestsInReverse,
    Every50thManifest,
    Changesets,
    AllChunks,
    ChunksByCodecAlone,
    WriteManifests,
}

pub(super) const WORKLOADS: [Workload; 7] = [
    Workload::ManifestsInOrder,
    Workload::ManifestsInReverse,
    Workload::Every50thManifest,
    Workload::Changesets,
    Workload::AllChunks,
    Workload::ChunksByCodecAlone,
    Workload::WriteManifests,
];

pub(super) struct Bench<'b> {
    manifest: Revlog,
    changelog: Revlog,
    all: Vec<Revlog>,
    write: WriteOptions,
    options: &'b Options,
    interrupt: &'b Interrupt,
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
        })
    }

    /// Codec and level of written chunks.
    pub(super) fn engine(&self) -> EngineSetting {
        self.write.engine
    }

    /// Does one kind of work, with one thread and where that can be with several.
    pub(super) fn rows(&self, work: Workload) -> Result<Vec<Row>, BenchError> {
        let manifests: Vec<Rev> = self.manifest.revs().collect();
        let last = &manifests[manifests.len().saturating_sub(self.options.last)..];
        match work {
            Workload::ManifestsInOrder => self.read("manifests in order", &self.manifest, last),
            Workload::ManifestsInReverse => {
                let revs: Vec<_> = last.iter().rev().copied().collect();
                self.read("manifests in reverse", &self.manifest, &revs)
            }
            Workload::Every50thManifest => {
                let revs: Vec<_> = manifests.iter().step_by(50).copied().collect();
                self.read("every 50th manifest", &self.manifest, &revs)
            }
            Workload::Changesets => {
                let revs: Vec<_> = self.changelog.revs().collect();
                self.read("changesets", &self.changelog, &revs)
            }
            Workload::AllChunks => Ok(vec![self.all_chunks()?]),
            Workload::ChunksByCodecAlone => Ok(vec![self.by_codec_alone()?]),
            Workload::WriteManifests => Ok(vec![self.write_manifests()?]),
        }
    }

    fn read(
        &self,
        work: &'static str,
        revlog: &Revlog,
        revs: &[Rev],
    ) -> Result<Vec<Row>, BenchError> {
        let mut rows = Vec::new();
        for threads in [1, self.options.threads] {
            let each = |_: Rev, _: &[u8]| -> Result<(), BenchError> {
                self.interrupt.check()?;
                Ok(())
            };
            let run = || timed(|| revlog.for_each_text(revs, threads, &each));
            rows.push(self.row(work, threads, revs.len(), &run)?);
        }
        Ok(rows)
    }

    fn row(
        &self,
        work: &'static str,
        threads: usize,
        revisions: usize,
        run: &dyn Fn() -> Result<Duration, BenchError>,
    ) -> Result<Row, BenchError> {
        let mut times = Vec::with_capacity(self.options.runs);
        for _ in 0..self.options.runs {
            self.interrupt.check()?;
            times.push(run()?);
        }
        times.sort_unstable();
        Ok(Row {
            work,
            threads,
            revisions,
            times,
            written: None,
        })
    }

    fn chunks(&self) -> usize {
        self.all.iter().map(Revlog::len).sum()
    }

    fn all_chunks(&self) -> Result<Row, BenchError> {
        let run = || {
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
        };
        self.row("all chunks", 1, self.chunks(), &run)
    }

    /// The codec's own calls on the same chunks, read before the clock starts.
    fn by_codec_alone(&self) -> Result<Row, BenchError> {
        let run = || {
            let (mut expander, mut out, mut time) =
                (Expander::new(), Vec::new(), Duration::default());
            for revlog in &self.all {
                self.interrupt.check()?;
                let mut reader = revlog.reader();
                let mut chunks = Vec::with_capacity(revlog.len());
                for rev in revlog.revs() {
                    chunks.push(reader.stored_chunk(rev)?.to_vec());
                }
                time += timed(|| {
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
            Ok(time)
        };
        self.row("all chunks, codec alone", 1, self.chunks(), &run)
    }

    fn write_manifests(&self) -> Result<Row, BenchError> {
        let revlog = &self.manifest;
        let from = revlog.len().saturating_sub(self.options.writes);
        let revs: Vec<Rev> = revlog.revs().skip(from).collect();
        let base = revlog.data_len() - revs.iter().map(|rev| stored(revlog, *rev)).sum::<u64>();
        let before = self.cut_at(from, base)?;
        let written = std::cell::Cell::new(0);
        let run = || {
            let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(before.clone()));
            let path = Path::new(COPY).with_extension("i");
            let mut appender = Appender::open(&storage, &path, Content::Manifest, self.write)?;
            let (mut reader, mut time) = (revlog.reader(), Duration::default());
            for rev in &revs {
                self.interrupt.check()?;
                let [p1, p2] = revlog.parents(*rev);
                let new = NewRevision {
                    text: reader.text(*rev)?,
                    p1,
                    p2,
                    link: Rev(u32::try_from(revlog.linkrev(*rev)).unwrap_or(0)),
                };
                let given = RevisionHints {
                    node: Some(revlog.node(*rev)),
                    ..RevisionHints::default()
                };
                time += timed(|| {
                    appender.add_with_hints(&new, &given)?;
                    Ok(())
                })?;
            }
            time += timed(|| {
                appender.write()?;
                Ok(())
            })?;
            written.set(Revlog::open(&storage, &path)?.data_len() - base);
            Ok(time)
        };
        let mut row = self.row("write manifests", 1, revs.len(), &run)?;
        row.written = Some((written.get(), revlog.data_len() - base));
        Ok(row)
    }

    /// Files of the manifest as they were before the revision `from`, whose chunk begins at
    /// `data_len`.
    fn cut_at(
        &self,
        from: usize,
        data_len: u64,
    ) -> Result<Vec<(std::path::PathBuf, Vec<u8>)>, BenchError> {
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

fn timed(work: impl FnOnce() -> Result<(), BenchError>) -> Result<Duration, BenchError> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
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
