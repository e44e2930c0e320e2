//! Receiving revisions of files: each file is stored by one of several workers.

use super::batch::{RevisionBatch, RevisionSink};
use super::{NewRevision, Receiver, spill};
use crate::format::RepoError;
use crate::format::context::RepoContext;
use crate::write::transaction::Transaction;
use crate::write::worker::{Batch as _, Worker};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_revlog::{Appender, AppenderState, Content, ReceivedRevision, WriteOptions};

/// Indexes to be replaced that may wait until all are added to the journal at once.
const MOST_REPLACED: usize = 64;

/// Full batches that may wait in each worker.
const BATCHES: usize = 8;

/// Distributes files over the workers.
#[derive(Debug)]
pub(super) struct FileReceiver {
    workers: Vec<Worker<Filelogs>>,
    /// The next batch; its worker is chosen when it is full.
    batch: RevisionBatch,
    /// The worker that has the beginning of the file that is being received.
    has_begun: Option<usize>,
    /// Whether a file is being received.
    is_open: bool,
    /// Files that the journal has.
    announced: HashSet<Vec<u8>>,
    /// See [`Filelogs::replaced`], of all workers.
    replaced: Arc<AtomicUsize>,
    /// Names that the fncache lacks.
    pub(super) new_names: Vec<Vec<u8>>,
}

/// Stores revisions of files, one filelog after the other.
#[derive(Debug)]
pub(super) struct Filelogs {
    context: Arc<RepoContext>,
    options: WriteOptions,
    /// Buffers for the next filelog.
    state: AppenderState,
    text: Vec<u8>,
    open: Option<OpenFile>,
    /// Complete, but their indexes have to be replaced, of which the journal must know first.
    replaced: Vec<OpenFile>,
    replaced_by_all: Arc<AtomicUsize>,
    new_names: Vec<Vec<u8>>,
    /// Number of new revisions.
    changes: usize,
}

#[derive(Debug)]
struct OpenFile {
    path: Vec<u8>,
    log: Appender,
}

impl OpenFile {
    fn index(&self) -> Vec<u8> {
        [b"data/", &self.path[..], b".i"].concat()
    }
}

impl RevisionSink for Filelogs {
    fn begin(&mut self, path: Vec<u8>) -> Result<(), RepoError> {
        let (storage, index) = (&self.context.storage, self.context.filelog_path(&path));
        let state = std::mem::take(&mut self.state);
        let log = Appender::open_with(storage, &index, Content::File, self.options, state)?;
        let log = log.with_data(self.context.filelog_data_path(&path));
        self.open = Some(OpenFile { path, log });
        Ok(())
    }

    fn revision(&mut self, received: &ReceivedRevision<'_>) -> Result<(), RepoError> {
        let Some(file) = &mut self.open else {
            return Ok(());
        };
        let added = file.log.add_received(received, &mut self.text)?;
        self.changes += usize::from(added.is_some());
        spill(&mut file.log)
    }

    fn end(&mut self) -> Result<(), RepoError> {
        match self.open.take() {
            Some(file) if file.log.will_replace_index() => {
                self.replaced_by_all.fetch_add(1, Ordering::Relaxed);
                self.replaced.push(file);
                Ok(())
            }
            Some(file) => self.write(file),
            None => Ok(()),
        }
    }
}

impl Filelogs {
    fn write(&mut self, file: OpenFile) -> Result<(), RepoError> {
        let index = file.index();
        let (written, state) = file.log.write_unsynced()?;
        self.state = state;
        if written.split {
            let data = [b"data/", &file.path[..], b".d"].concat();
            self.new_names.push(data);
        }
        if written.created {
            self.new_names.push(index);
        }
        Ok(())
    }
}

impl FileReceiver {
    /// A worker for each core.
    pub fn new(context: &Arc<RepoContext>, options: WriteOptions) -> FileReceiver {
        let replaced = Arc::default();
        let filelogs = || Filelogs {
            context: Arc::clone(context),
            options,
            state: AppenderState::default(),
            text: Vec::new(),
            open: None,
            replaced: Vec::new(),
            replaced_by_all: Arc::clone(&replaced),
            new_names: Vec::new(),
            changes: 0,
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        FileReceiver {
            workers: (0..cores)
                .map(|_| Worker::new(filelogs(), BATCHES))
                .collect(),
            batch: RevisionBatch::default(),
            has_begun: None,
            is_open: false,
            announced: HashSet::new(),
            replaced,
            new_names: Vec::new(),
        }
    }

    /// Adds those files to the journal that it lacks.
    pub fn announce(
        &mut self,
        context: &RepoContext,
        transaction: &mut Transaction,
        files: Vec<Vec<u8>>,
    ) -> Result<(), RepoError> {
        for file in files {
            let index = context.filelog_path(&file);
            let data = context.filelog_data_path(&file);
            let names = [&b".i"[..], b".d"].map(|end| [b"data/", &file[..], end].concat());
            if !self.announced.insert(file) {
                continue;
            }
            for (path, name) in [index, data].iter().zip(names) {
                let len = context.storage.file_len(path)?.unwrap_or(0);
                transaction.will_append(name, len);
            }
        }
        transaction.extend_journal()
    }

    pub fn knows(&self, file: &[u8]) -> bool {
        self.announced.contains(file)
    }

    fn begin(&mut self, path: &[u8]) {
        self.batch.begin(path.to_vec());
        self.is_open = true;
    }

    fn revision(&mut self, received: &ReceivedRevision<'_>) -> Result<(), RepoError> {
        if !self.is_open {
            return Ok(());
        }
        self.batch.revision(received);
        match self.batch.is_full() {
            true => self.send(),
            false => Ok(()),
        }
    }

    /// The file is complete.
    fn end(&mut self) -> Result<(), RepoError> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        self.batch.end();
        if self.has_begun.is_some() || self.batch.is_full() {
            self.send()?;
        }
        self.has_begun = None;
        Ok(())
    }

    /// Hands the batch to the worker that has the file, or to the one with the least to do.
    fn send(&mut self) -> Result<(), RepoError> {
        let workers = self.workers.iter().enumerate();
        let idlest = workers.min_by_key(|(_, worker)| worker.queued_bytes());
        let number = self.has_begun.or(idlest.map(|(number, _)| number));
        self.has_begun = number.filter(|_| self.is_open);
        match number.and_then(|number| self.workers.get_mut(number)) {
            Some(worker) => {
                *worker.batch() = std::mem::take(&mut self.batch);
                worker.send()
            }
            None => Ok(()),
        }
    }

    /// Ends all threads when everything is done that can be done without the journal.
    pub fn drain(&mut self) -> Result<(), RepoError> {
        self.end()?;
        // The first worker gets the last batch.
        if let Some(worker) = self.workers.first_mut().filter(|_| !self.batch.is_empty()) {
            *worker.batch() = std::mem::take(&mut self.batch);
        }
        let mut done = Ok(());
        for worker in &mut self.workers {
            done = done.and(worker.drain().map(drop));
        }
        done
    }

    /// Brings everything that came into the files; gives the number of new revisions.
    pub fn write_all(&mut self, transaction: &mut Transaction) -> Result<usize, RepoError> {
        self.drain()?;
        if self.replaced.swap(0, Ordering::Relaxed) > 0 {
            for worker in &mut self.workers {
                for file in &worker.handler().replaced {
                    transaction.will_replace(&file.index());
                }
            }
            transaction.extend_journal()?;
        }
        let mut changes = 0;
        for worker in &mut self.workers {
            let filelogs = worker.handler();
            for file in std::mem::take(&mut filelogs.replaced) {
                filelogs.write(file)?;
            }
            self.new_names.append(&mut filelogs.new_names);
            changes += std::mem::take(&mut filelogs.changes);
        }
        Ok(changes)
    }
}

impl Receiver {
    /// Revisions of the file `path` follow.
    ///
    /// # Errors
    /// A damaged manifest or filelog; errors of the storage.
    pub fn begin_file(&mut self, path: &[u8]) -> Result<(), RepoError> {
        self.files.end()?;
        self.check_path(path)?;
        let changesets = self.changesets.drain()?;
        let mut unknown = std::mem::take(&mut changesets.files);
        if !self.files.knows(path) {
            unknown.push(path.to_vec());
        }
        if !unknown.is_empty() {
            let context = &self.view.context;
            self.files
                .announce(context, &mut self.transaction, unknown)?;
        }
        if self.files.replaced.load(Ordering::Relaxed) >= MOST_REPLACED {
            self.current.changes += self.files.write_all(&mut self.transaction)?;
        }
        self.current.files += 1;
        self.files.begin(path);
        Ok(())
    }

    /// No path of a file leads out of the store or breaks its list.
    fn check_path(&self, path: &[u8]) -> Result<(), RepoError> {
        let mut parts = path.split(|byte| *byte == b'/');
        let is_odd = parts.any(|part| part.is_empty() || part == b"." || part == b"..");
        if is_odd || path.contains(&b'\n') || path.contains(&0) {
            return Err(RepoError::Commit {
                path: self.view.root().to_owned(),
                reason: format!("{:?} is no name of a file", String::from_utf8_lossy(path)),
            });
        }
        Ok(())
    }

    /// Takes a revision of the file.
    ///
    /// # Errors
    /// A mismatch of text and node, with this revision or an earlier one.
    pub fn file_revision(&mut self, new: &NewRevision<'_>) -> Result<(), RepoError> {
        let received = new.linked(self.link(new)?);
        self.files.revision(&received)
    }
}
