//! The threads of a build: one reads batches, the others map them.

use super::BuildContext;
use super::map::Mapper;
use super::rows::{Batch, Mapped, Mapping};
use crate::ViewError;
use crate::group::ViewGroup;
use parking_lot::Mutex;
use std::sync::mpsc::{Receiver, SyncSender};
use varve_base::{IdleTime, Interrupt};
use varve_docdb::{Direction, Snapshot};

/// When a worker gets a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerPriority {
    /// As the thread that starts it.
    Inherited,
    /// While no other thread wants one; a worker that gets far too little so gives its work up to another.
    WhenIdle,
}

/// Message from a thread of a build to its writer.
pub(super) enum FromWorker<'a> {
    Mapped(Mapped),
    /// The worker hardly ever ran, and is to go on in a thread of higher priority.
    Starved(Box<Worker<'a>>, Box<Mapping>),
    Failed(ViewError),
}

/// Maps batches on a thread of its own.
#[derive(Clone)]
pub(super) struct Worker<'a> {
    group: &'a ViewGroup,
    documents: &'a Snapshot,
    batches: &'a Mutex<Receiver<Batch>>,
    to_writer: SyncSender<FromWorker<'a>>,
    context: &'a BuildContext<'a>,
    /// Raised when the build has ended, whatever its outcome.
    ended: &'a Interrupt,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        (group, documents): (&'a ViewGroup, &'a Snapshot),
        batches: &'a Mutex<Receiver<Batch>>,
        to_writer: SyncSender<FromWorker<'a>>,
        (context, ended): (&'a BuildContext<'a>, &'a Interrupt),
    ) -> Self {
        Worker {
            group,
            documents,
            batches,
            to_writer,
            context,
            ended,
        }
    }

    /// Maps batches until there are no more, or the build has ended; first the one that is `begun`.
    pub(super) fn run(self, priority: WorkerPriority, begun: Option<Box<Mapping>>) {
        let mut idle_time = match priority {
            WorkerPriority::Inherited => None,
            WorkerPriority::WhenIdle => IdleTime::begin(),
        };
        if let Err(error) = self.map_batches(begun, &mut idle_time) {
            // The writer may be gone with an error of its own.
            let _ = self.to_writer.send(FromWorker::Failed(error));
        }
    }

    fn map_batches(
        &self,
        mut begun: Option<Box<Mapping>>,
        idle_time: &mut Option<IdleTime>,
    ) -> Result<(), ViewError> {
        let mut mapper = Mapper::new(self.group, self.documents, self.context, self.ended)?;
        while let Some(mut mapping) = begun.take().or_else(|| self.next()) {
            let mut is_starved = || idle_time.as_mut().is_some_and(IdleTime::is_starved);
            let message = match mapper.map(&mut mapping, &mut is_starved)? {
                true => FromWorker::Mapped(mapping.end()),
                false => FromWorker::Starved(Box::new(self.clone()), mapping),
            };
            let goes_on = matches!(message, FromWorker::Mapped(_));
            if self.to_writer.send(message).is_err() || !goes_on {
                break;
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<Box<Mapping>> {
        // The lock is held while waiting: one worker waits for work, the others for it.
        let batch = self.batches.lock().recv().ok()?;
        Some(Box::new(Mapping::begin(batch, self.group.maps().len())))
    }
}

/// Empties the channel so that the reader, if it waits for room, sees that it is to stop.
pub(super) fn drain(batches: &Mutex<Receiver<Batch>>) {
    let batches = batches.lock();
    while batches.recv().is_ok() {}
}

/// Cuts the changes into batches of `size`, each with leave to be mapped; returns how many.
pub(super) fn read_batches(
    documents: &Snapshot,
    (since, size): (u64, usize),
    (to_workers, leave): (&SyncSender<Batch>, &SyncSender<()>),
    ended: &Interrupt,
    context: &BuildContext<'_>,
) -> Result<u64, ViewError> {
    let mut changes = documents.changes(since, Direction::Forward)?;
    let mut number = 0;
    while !ended.is_raised() {
        context.interrupt.check()?;
        let batch: Result<Vec<_>, _> = changes.by_ref().take(size).collect();
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
