//! Cutting files, directories, repositories and databases into chunks.

use super::corpus::Corpus;
use super::{ChunkSource, SourceKind};
use crate::BenchError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::EntryKind;
use varve_base::{Interrupt, OpenMode, Progress, Storage};
use varve_btree::{NoReduction, NodeCache, Reducer, TreeFile};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions};
use varve_revlog::Revlog;

/// Plain files are cut into pieces of this length.
const PIECE: usize = 1 << 20;

/// Destination of chunks, and receiver of progress.
struct Sink<'a> {
    storage: &'a Arc<dyn Storage>,
    corpus: &'a mut Corpus,
    progress: &'a dyn Progress,
    interrupt: &'a Interrupt,
    sources: Vec<ChunkSource>,
}

/// Puts the chunks of all paths into `corpus`.
pub(super) fn collect(
    storage: &Arc<dyn Storage>,
    paths: &[PathBuf],
    corpus: &mut Corpus,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Vec<ChunkSource>, BenchError> {
    let mut sink = Sink {
        storage,
        corpus,
        progress,
        interrupt,
        sources: Vec::new(),
    };
    for path in paths {
        match storage.kind(path)? {
            Some(EntryKind::File) => sink.file(path)?,
            Some(EntryKind::Directory) => sink.directory(path)?,
            // A path that the user gave may be a symbolic link, unlike one found in a directory.
            Some(EntryKind::Other) if storage.list(path).is_ok() => sink.directory(path)?,
            Some(EntryKind::Other) => sink.file(path)?,
            None => return Err(BenchError::NoSource { path: path.clone() }),
        }
    }
    Ok(sink.sources)
}

impl Sink<'_> {
    fn start(&mut self, path: &Path, kind: SourceKind) {
        self.sources.push(ChunkSource {
            path: path.to_owned(),
            kind,
            chunks: 0,
            bytes: 0,
        });
    }

    fn push(&mut self, chunk: &[u8]) -> Result<(), BenchError> {
        self.interrupt.check()?;
        if let Some(source) = self.sources.last_mut().filter(|_| !chunk.is_empty()) {
            source.chunks += 1;
            source.bytes += chunk.len() as u64;
        }
        self.progress.advance(chunk.len() as u64);
        self.corpus.push(chunk);
        Ok(())
    }

    /// A repository, or everything below a directory. Symbolic links are not followed.
    fn directory(&mut self, top: &Path) -> Result<(), BenchError> {
        let mut directories = vec![top.to_owned()];
        while let Some(directory) = directories.pop() {
            self.interrupt.check()?;
            let hg = directory.join(".hg");
            if self.storage.kind(&hg)? == Some(EntryKind::Directory) {
                self.repository(&directory, &hg)?;
                continue;
            }
            let mut files = BTreeSet::new();
            let mut below = BTreeSet::new();
            for entry in self.storage.list(&directory)? {
                match entry.kind {
                    EntryKind::File => drop(files.insert(directory.join(&entry.name))),
                    EntryKind::Directory => drop(below.insert(directory.join(&entry.name))),
                    EntryKind::Other => {}
                }
            }
            for file in files {
                self.file(&file)?;
            }
            directories.extend(below.into_iter().rev());
        }
        Ok(())
    }

    /// The content of a repository's revlogs, whatever it is compressed with.
    fn repository(&mut self, root: &Path, hg: &Path) -> Result<(), BenchError> {
        self.start(root, SourceKind::Repository);
        let store = hg.join("store");
        let has_store = self.storage.kind(&store)? == Some(EntryKind::Directory);
        let mut directories = vec![if has_store { store } else { hg.to_owned() }];
        while let Some(directory) = directories.pop() {
            for entry in self.storage.list(&directory)? {
                let path = directory.join(&entry.name);
                let is_index = path.extension().is_some_and(|extension| extension == "i");
                match entry.kind {
                    EntryKind::Directory => directories.push(path),
                    EntryKind::File if is_index => self.revlog(&path)?,
                    EntryKind::File | EntryKind::Other => {}
                }
            }
        }
        Ok(())
    }

    fn revlog(&mut self, path: &Path) -> Result<(), BenchError> {
        let revlog = Revlog::open(self.storage, path)?;
        let mut reader = revlog.reader();
        let mut chunk = Vec::new();
        for rev in revlog.revs() {
            reader.stored_delta(rev, &mut chunk)?;
            self.push(&chunk)?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), BenchError> {
        if let Some(kind) = TreeFile::kind_of(self.storage.as_ref(), path)? {
            return self.tree_file(path, kind);
        }
        let lines = path.extension().is_some_and(|extension| {
            extension.eq_ignore_ascii_case("jsonl") || extension.eq_ignore_ascii_case("ndjson")
        });
        let file = self.storage.open(path, OpenMode::Read)?;
        let mut buffer = vec![0; PIECE];
        if lines {
            self.start(path, SourceKind::JsonLines);
            // A line may be of any length, so there is no fixed buffer for it.
            let text = file.read_all()?;
            for line in text.split(|&byte| byte == b'\n') {
                self.push(line.trim_ascii())?;
            }
            return Ok(());
        }
        self.start(path, SourceKind::File);
        let mut offset = 0;
        loop {
            let got = file.read_at(offset, &mut buffer)?;
            if got == 0 {
                return Ok(());
            }
            self.push(&buffer[..got])?;
            offset += got as u64;
        }
    }

    /// A database's document bodies, and the nodes of all trees.
    fn tree_file(
        &mut self,
        path: &Path,
        (kind, trees): ([u8; 8], usize),
    ) -> Result<(), BenchError> {
        self.start(path, SourceKind::Database);
        let (storage, setting, cache) = (
            self.storage.as_ref(),
            EngineSetting::NONE,
            NodeCache::new(0),
        );
        if kind == varve_docdb::KIND {
            let options = DatabaseOptions::new(setting, cache);
            let snapshot = Database::read_only(storage, path, &options)?;
            return snapshot.visit_chunks(&mut |chunk| self.push(chunk));
        }
        let reducer: Arc<dyn Reducer> = Arc::new(NoReduction);
        let options = varve_btree::Options {
            kind,
            reducers: vec![reducer; trees],
            optional_trees: 0,
            setting,
            cache,
        };
        let file = TreeFile::open_read_only(storage, path, options)?;
        let snapshot = file.snapshot();
        (0..trees).try_for_each(|tree| snapshot.visit_nodes(tree, &mut |node| self.push(node)))
    }
}
