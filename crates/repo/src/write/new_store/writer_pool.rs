//! Threads that make the files of a store: most are small, and making one costs more than filling it.

use crate::format::RepoError;
use crate::write::worker::{Batch, BatchHandler, Worker};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{OpenMode, Storage, StorageFile};

/// Full batches that may wait for each thread.
const BATCHES: usize = 8;

/// One file begins, or goes on.
#[derive(Debug)]
enum FileChunk {
    Begin(PathBuf),
    Bytes(Vec<u8>),
}

#[derive(Debug, Default)]
struct FileChunks {
    pieces: Vec<FileChunk>,
    len: usize,
}

impl Batch for FileChunks {
    fn len(&self) -> usize {
        self.len
    }
}

#[derive(Debug)]
struct FileWriter {
    storage: Arc<dyn Storage>,
    /// Directories that are there.
    made: HashSet<PathBuf>,
    open: Option<Arc<dyn StorageFile>>,
}

impl BatchHandler for FileWriter {
    type Batch = FileChunks;

    fn handle(&mut self, batch: FileChunks) -> Result<(), RepoError> {
        for piece in batch.pieces {
            match (piece, &self.open) {
                (FileChunk::Begin(path), _) => self.open = Some(self.create(&path)?),
                (FileChunk::Bytes(bytes), Some(file)) => drop(file.append(&bytes)?),
                (FileChunk::Bytes(_), None) => unreachable!("bytes follow the name of their file"),
            }
        }
        Ok(())
    }
}

impl FileWriter {
    fn create(&mut self, path: &Path) -> Result<Arc<dyn StorageFile>, RepoError> {
        if let Some(directory) = path.parent()
            && !self.made.contains(directory)
        {
            self.storage.create_directory(directory)?;
            let all = directory.ancestors().map(Path::to_owned);
            self.made.extend(all);
        }
        Ok(self.storage.open(path, OpenMode::CreateNew)?)
    }
}

/// One thread for each core, as soon as there is enough to do.
#[derive(Debug)]
pub(super) struct WriterPool {
    workers: Vec<Worker<FileWriter>>,
    /// Which one has the file that has begun.
    current: usize,
    hashes: RandomState,
}

impl WriterPool {
    pub fn new(storage: &Arc<dyn Storage>) -> WriterPool {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let writer = || FileWriter {
            storage: Arc::clone(storage),
            made: HashSet::new(),
            open: None,
        };
        WriterPool {
            workers: (0..cores).map(|_| Worker::new(writer(), BATCHES)).collect(),
            current: 0,
            hashes: RandomState::new(),
        }
    }

    /// Begins a file. All files of a directory are made by one thread: two would wait for each
    /// other's lock of the directory.
    pub fn begin(&mut self, path: PathBuf) -> Result<(), RepoError> {
        let directory = self.hashes.hash_one(path.parent());
        self.current = directory as usize % self.workers.len();
        let len = path.as_os_str().len();
        self.put(FileChunk::Begin(path), len)
    }

    /// Bytes of the file that has begun.
    pub fn append(&mut self, bytes: Vec<u8>) -> Result<(), RepoError> {
        let len = bytes.len();
        self.put(FileChunk::Bytes(bytes), len)
    }

    fn put(&mut self, piece: FileChunk, len: usize) -> Result<(), RepoError> {
        let worker = &mut self.workers[self.current];
        let batch = worker.batch();
        batch.pieces.push(piece);
        batch.len += len + size_of::<FileChunk>();
        worker.send_full()
    }

    /// Waits until everything is written.
    pub fn drain(&mut self) -> Result<(), RepoError> {
        self.workers
            .iter_mut()
            .try_for_each(|worker| worker.drain().map(drop))
    }
}
