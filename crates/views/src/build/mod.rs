//! Bringing an index up to date.
//!
//! Documents flow by sequence, in numbered batches, to worker threads that each have an engine;
//! mapped batches come back in any order. The calling thread writes them as soon as an unbroken
//! run of batches is long enough, each time ending with a commit that records the sequence, while
//! the workers go on. A build that was stopped continues from its last commit.

mod forget;
mod map;
mod order;
mod rows;
mod write;

use crate::ViewError;
use crate::group::ViewGroup;
use crate::header::IndexHeader;
use crate::index::ViewIndex;
pub(crate) use forget::forget;
use map::Mapper;
use parking_lot::Mutex;
use rows::{Batch, Mapped};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use varve_base::{Interrupt, Progress, Unit};
use varve_docdb::{Direction, Snapshot};
use varve_js::{Compilation, Limits};
use write::Writer;

/// Documents in one batch.
const BATCH: usize = 200;
/// Builds of so many documents run at low priority.
const LONG: u64 = 5_000;
/// As [`LONG`], where an engine runs map functions: one call may take as long as thousands of compiled ones.
const LONG_IN_ENGINE: u64 = 500;
/// Bytes of rows that are gathered before they are written.
const WRITE_AT: usize = 64 << 20;

/// Batches for each worker that may be mapped while an earlier one is not: their rows wait in
/// memory.
const AHEAD: usize = 16;

/// Receives the messages of a build's functions.
pub trait BuildLog: Sync {
    /// A map function called `log` about a document; `text` is a JSON string.
    fn message(&self, document: &str, text: &str);

    /// A document has no rows, because the map function of a view threw; or none at all, if no view
    /// is named, because its functions passed a limit.
    fn failure(&self, document: &str, view: Option<&str>, reason: &str);
}

/// Drops all messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl BuildLog for NoLog {
    fn message(&self, _document: &str, _text: &str) {}

    fn failure(&self, _document: &str, _view: Option<&str>, _reason: &str) {}
}

/// How a build runs.
#[derive(Clone, Copy)]
pub struct BuildContext<'a> {
    /// Worker threads, at least one.
    pub workers: usize,
    /// Limits of each engine.
    pub limits: Limits,
    /// Which functions run without one.
    pub compilation: Compilation,
    /// Counts documents as they are written.
    pub progress: &'a dyn Progress,
    /// Called between short pieces of a long build; it may sleep, so that requests go first.
    pub throttle: &'a (dyn Fn() + Sync),
    /// Checked once per document.
    pub interrupt: &'a Interrupt,
    /// Receives messages and failures of functions.
    pub log: &'a dyn BuildLog,
}

impl std::fmt::Debug for BuildContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BuildContext({} workers)", self.workers)
    }
}

/// Indexes the changes of `documents` behind `since`, which is 0 for an empty index.
pub(crate) fn update(
    index: &ViewIndex,
    documents: &Snapshot,
    since: u64,
    context: &BuildContext<'_>,
) -> Result<(), ViewError> {
    let total = documents.count_changes(since)?;
    context.progress.begin("indexing", Unit::Items, Some(total));
    // An engine costs more than the documents of a batch.
    let batches = usize::try_from(total.div_ceil(BATCH as u64)).unwrap_or(usize::MAX);
    let workers = context.workers.min(batches).max(1);
    let writer = Writer::new(index, since == 0);
    let group = &*index.group;
    let is_compiled = group.compiled(context.compilation).eq(group.names());
    let long = if is_compiled { LONG } else { LONG_IN_ENGINE };
    let outcome = match total < long {
        true => {
            let context = BuildContext {
                throttle: &|| (),
                ..*context
            };
            run(writer, group, documents, since, workers, &context)
        }
        false => at_low_priority(|| run(writer, group, documents, since, workers, context)),
    };
    context.progress.end();
    outcome
}

/// Runs `work` on a thread of low priority; threads that it starts have the same.
fn at_low_priority<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            varve_base::lower_priority();
            work()
        });
        worker.join()
    });
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn run(
    writer: Writer<'_>,
    group: &ViewGroup,
    documents: &Snapshot,
    since: u64,
    workers: usize,
    context: &BuildContext<'_>,
) -> Result<(), ViewError> {
    let (to_workers, batches) = sync_channel::<Batch>(workers);
    let (to_writer, mapped) = sync_channel::<Result<Mapped, ViewError>>(workers * 2);
    let (leave, left) = sync_channel::<()>(workers * AHEAD);
    let batches = Mutex::new(batches);
    let stop = AtomicBool::new(false);
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (batches, to_writer) = (&batches, to_writer.clone());
            scope.spawn(move || map_batches(group, documents, batches, &to_writer, context));
        }
        let errors = to_writer;
        let (batches, stop, count) = (&batches, &stop, &count);
        scope.spawn(move || {
            match read_batches(documents, since, (&to_workers, &leave), stop, context) {
                Ok(read) => count.store(read, Ordering::Release),
                // The writer may be gone with an error of its own.
                Err(error) => drop(errors.send(Err(error))),
            }
        });
        let mut gathered = Gathered::new(writer, documents, left);
        let outcome = gathered
            .take_all(&mapped, context)
            .and_then(|()| gathered.finish(count.load(Ordering::Acquire), context));
        // On an error there are threads that wait for room or for work.
        stop.store(true, Ordering::Relaxed);
        drop(mapped);
        drop(gathered);
        drain(batches);
        outcome
    })
}

/// Empties the channel so that the reader, if it waits for room, sees that it is to stop.
fn drain(batches: &Mutex<Receiver<Batch>>) {
    let batches = batches.lock();
    while batches.recv().is_ok() {}
}

/// Cuts the changes into batches, each with leave to be mapped; returns how many.
fn read_batches(
    documents: &Snapshot,
    since: u64,
    (to_workers, leave): (&SyncSender<Batch>, &SyncSender<()>),
    stop: &AtomicBool,
    context: &BuildContext<'_>,
) -> Result<u64, ViewError> {
    let mut changes = documents.changes(since, Direction::Forward)?;
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        context.interrupt.check()?;
        let batch: Result<Vec<_>, _> = changes.by_ref().take(BATCH).collect();
        let changes = batch?;
        if changes.is_empty() || leave.send(()).is_err() {
            break;
        }
        if to_workers.send(Batch { number, changes }).is_err() {
            break;
        }
        number += 1;
    }
    Ok(number)
}

/// A worker: maps batches until there are no more, or the build has ended.
fn map_batches(
    group: &ViewGroup,
    documents: &Snapshot,
    batches: &Mutex<Receiver<Batch>>,
    to_writer: &SyncSender<Result<Mapped, ViewError>>,
    context: &BuildContext<'_>,
) {
    let mut mapper = match Mapper::new(group, documents, context) {
        Ok(mapper) => mapper,
        Err(error) => {
            let _ = to_writer.send(Err(error));
            return;
        }
    };
    loop {
        // The lock is held while waiting: one worker waits for work, the others for it.
        let batch = batches.lock().recv();
        let Ok(batch) = batch else { return };
        if to_writer.send(mapper.map(batch)).is_err() {
            return;
        }
    }
}

/// Mapped batches on their way into the index.
struct Gathered<'a> {
    writer: Writer<'a>,
    documents: &'a Snapshot,
    /// Batches that came before their turn.
    early: BTreeMap<u64, Mapped>,
    /// The number of the next batch of the run.
    next: u64,
    /// Unbroken, not yet written.
    run: Vec<Mapped>,
    /// Bytes of the run.
    size: usize,
    /// Gives leave to map one batch more for each that came to the run.
    left: Receiver<()>,
}

impl<'a> Gathered<'a> {
    fn new(writer: Writer<'a>, documents: &'a Snapshot, left: Receiver<()>) -> Self {
        Gathered {
            writer,
            documents,
            early: BTreeMap::new(),
            next: 0,
            run: Vec::new(),
            size: 0,
            left,
        }
    }

    /// Takes batches until all threads are done; after an error, what came before it is kept.
    fn take_all(
        &mut self,
        mapped: &Receiver<Result<Mapped, ViewError>>,
        context: &BuildContext<'_>,
    ) -> Result<(), ViewError> {
        for batch in mapped {
            match batch {
                Ok(batch) => self.take(batch, context)?,
                Err(error) => {
                    self.write_run(context)?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, batch: Mapped, context: &BuildContext<'_>) -> Result<(), ViewError> {
        self.early.insert(batch.number, batch);
        while let Some(batch) = self.early.remove(&self.next) {
            self.next += 1;
            // Permits are needed no more once all batches are read.
            let _ = self.left.try_recv();
            self.size += batch.size();
            self.run.push(batch);
        }
        if self.size >= WRITE_AT {
            self.write_run(context)?;
        }
        Ok(())
    }

    fn write_run(&mut self, context: &BuildContext<'_>) -> Result<(), ViewError> {
        let Some(last) = self.run.last() else {
            return Ok(());
        };
        let state = self.state(last.last_seq);
        self.writer.write(&self.run, state, context)?;
        self.run.clear();
        self.size = 0;
        Ok(())
    }

    /// Writes the rest, if all of `count` batches came; the index is then up to date.
    fn finish(&mut self, count: u64, context: &BuildContext<'_>) -> Result<(), ViewError> {
        if self.next != count {
            return Err(ViewError::Worker);
        }
        let state = self.state(self.documents.update_seq());
        self.writer.write(&self.run, state, context)
    }

    fn state(&self, seq: u64) -> IndexHeader {
        IndexHeader {
            database: self.documents.uuid(),
            seq,
            purge_seq: self.documents.purge_seq(),
        }
    }
}
