//! Bringing an index up to date.
//!
//! Documents flow by sequence, in numbered batches, to worker threads that each have an engine;
//! mapped batches come back in any order. The calling thread writes them as soon as an unbroken
//! run of batches is long enough, each time ending with a commit that records the sequence, while
//! the workers go on. A build that was stopped continues from its last commit.

mod forget;
mod judge;
mod map;
mod order;
mod rows;
mod share;
mod workers;
mod write;

use crate::ViewError;
use crate::group::ViewGroup;
use crate::header::IndexHeader;
use crate::index::ViewIndex;
pub(crate) use forget::forget;
use parking_lot::Mutex;
use rows::{Batch, Mapped};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;
use varve_base::{Interrupt, Progress, Unit};
use varve_docdb::Snapshot;
use varve_js::{Compilation, Limits};
use workers::{FromWorker, Worker, WorkerPriority, drain, read_batches};
use write::Writer;

/// Documents in one batch.
const BATCH: usize = 200;
/// The same where rows are kept by principal: each document may have many more of them then.
const SMALL_BATCH: usize = 25;
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

/// Gives other work its turn, by sleeping if need be.
pub type BuildThrottle = Arc<dyn Fn() + Send + Sync>;

/// How a build runs.
#[derive(Clone, Copy)]
pub struct BuildContext<'a> {
    /// Worker threads, at least one.
    pub workers: usize,
    /// Limits of each engine.
    pub limits: Limits,
    /// Which functions run without one.
    pub compilation: Compilation,
    /// Whether documents for which the functions pass a limit are left out of the index; otherwise they end the build.
    pub skips_failed: bool,
    /// Counts documents as they are written.
    pub progress: &'a dyn Progress,
    /// Called between short pieces of a long build and of a long call; it may sleep, so that requests go first.
    pub throttle: &'a BuildThrottle,
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
    let batches = total.div_ceil(batch_size(&index.group) as u64);
    let batches = usize::try_from(batches).unwrap_or(usize::MAX);
    let workers = context.workers.min(batches).max(1);
    let writer = Writer::new(index, since == 0);
    let group = &*index.group;
    let is_compiled = group.compiled(context.compilation).eq(group.names());
    let long = if is_compiled { LONG } else { LONG_IN_ENGINE };
    let work = |context: &BuildContext<'_>, priority| {
        run(writer, documents, since, (workers, priority), context)
    };
    let outcome = match total < long {
        true => {
            let context = BuildContext {
                throttle: &(Arc::new(|| ()) as BuildThrottle),
                ..*context
            };
            work(&context, WorkerPriority::Inherited)
        }
        false if is_compiled => at_low_priority(|| work(context, WorkerPriority::Inherited)),
        // One call of a function may hold a processor for seconds.
        false => at_low_priority(|| work(context, WorkerPriority::WhenIdle)),
    };
    context.progress.end();
    outcome
}

/// Documents in one batch of a build.
fn batch_size(group: &ViewGroup) -> usize {
    match group.has_access() {
        true => SMALL_BATCH,
        false => BATCH,
    }
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
    documents: &Snapshot,
    since: u64,
    (workers, priority): (usize, WorkerPriority),
    context: &BuildContext<'_>,
) -> Result<(), ViewError> {
    let group = writer.group();
    let (to_workers, batches) = sync_channel::<Batch>(workers);
    let (to_writer, mapped) = sync_channel::<FromWorker<'_>>(workers * 2);
    let (leave, left) = sync_channel::<()>(workers * AHEAD);
    let batches = Mutex::new(batches);
    let ended = Interrupt::default();
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let worker = Worker::new(
                (group, documents),
                &batches,
                to_writer.clone(),
                (context, &ended),
            );
            scope.spawn(move || worker.run(priority, None));
        }
        let errors = to_writer;
        let (batches, ended, count) = (&batches, &ended, &count);
        scope.spawn(move || {
            let size = batch_size(group);
            match read_batches(
                documents,
                (since, size),
                (&to_workers, &leave),
                ended,
                context,
            ) {
                Ok(read) => count.store(read, Ordering::Release),
                // The writer may be gone with an error of its own.
                Err(error) => drop(errors.send(FromWorker::Failed(error))),
            }
        });
        let mut gathered = Gathered::new(writer, documents, left);
        let outcome = gathered
            .take_all(&mapped, scope, context)
            .and_then(|()| gathered.finish(count.load(Ordering::Acquire), context));
        // On an error there are threads that wait for room or for work, or are in the middle of a call.
        ended.raise();
        drop(mapped);
        drop(gathered);
        drain(batches);
        outcome
    })
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

    /// Takes batches until all threads are done; after an error, the batches before it are kept.
    fn take_all<'scope, 'env>(
        &mut self,
        from_workers: &Receiver<FromWorker<'env>>,
        scope: &'scope Scope<'scope, 'env>,
        context: &BuildContext<'_>,
    ) -> Result<(), ViewError> {
        for message in from_workers {
            match message {
                FromWorker::Mapped(batch) => self.take(batch, context)?,
                FromWorker::Starved(worker, begun) => {
                    // Here, because a thread has the priority of the one that starts it.
                    scope.spawn(move || worker.run(WorkerPriority::Inherited, Some(begun)));
                }
                FromWorker::Failed(error) => {
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
