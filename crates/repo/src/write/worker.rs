//! Background threads that work off batches, each with a handler of its own.
//!
//! The receiving thread takes the stream apart and collects batches. The first full batch starts the
//! thread; a shorter one is handled on the calling thread when the worker is drained.

use crate::format::RepoError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Bytes from which on a batch is full.
const FULL: usize = 256 << 10;

/// A batch of work for a handler.
pub(crate) trait Batch: Default + Send + 'static {
    /// Bytes that it takes.
    fn len(&self) -> usize;

    /// Whether it is time to hand it over.
    fn is_full(&self) -> bool {
        self.len() >= FULL
    }
}

/// Works batches off.
pub(crate) trait BatchHandler: Send + 'static {
    /// One unit of work.
    type Batch: Batch;

    /// Works a batch off.
    ///
    /// # Errors
    /// Damaged data; errors of the storage.
    fn handle(&mut self, batch: Self::Batch) -> Result<(), RepoError>;
}

/// A handler with its queue of batches.
#[derive(Debug)]
pub(crate) struct Worker<H: BatchHandler> {
    state: WorkerState<H>,
    /// The batch that was not sent yet.
    batch: H::Batch,
    /// Most batches in the queue.
    most: usize,
    /// Bytes of the queued batches.
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum WorkerState<H: BatchHandler> {
    Idle(H),
    Running {
        sender: SyncSender<H::Batch>,
        thread: JoinHandle<(H, Result<(), RepoError>)>,
    },
    /// Only during a transition.
    Moved,
}

impl<H: BatchHandler> Worker<H> {
    /// A worker with a queue of at most `most` batches.
    pub fn new(handler: H, most: usize) -> Worker<H> {
        Worker {
            most,
            state: WorkerState::Idle(handler),
            batch: H::Batch::default(),
            waiting: Arc::default(),
        }
    }

    /// Bytes in the queue.
    pub fn queued_bytes(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The batch that is being filled.
    pub fn batch(&mut self) -> &mut H::Batch {
        &mut self.batch
    }

    /// Sends the batch to the thread if it is full; blocks while the queue is full.
    ///
    /// # Errors
    /// The error of the handler.
    pub fn send_full(&mut self) -> Result<(), RepoError> {
        match self.batch.is_full() {
            true => self.send(),
            false => Ok(()),
        }
    }

    /// Hands the batch to the thread.
    ///
    /// # Errors
    /// The error of the handler.
    pub fn send(&mut self) -> Result<(), RepoError> {
        let batch = std::mem::take(&mut self.batch);
        self.start();
        self.waiting.fetch_add(batch.len(), Ordering::Relaxed);
        match &self.state {
            WorkerState::Running { sender, .. } if sender.send(batch).is_ok() => Ok(()),
            // The thread ended before its time.
            _ => self.drain().map(drop),
        }
    }

    fn start(&mut self) {
        self.state = match std::mem::replace(&mut self.state, WorkerState::Moved) {
            WorkerState::Idle(handler) => {
                let (sender, batches) = sync_channel(self.most);
                let waiting = Arc::clone(&self.waiting);
                let thread = std::thread::spawn(move || run(handler, &batches, &waiting));
                WorkerState::Running { sender, thread }
            }
            other => other,
        };
    }

    /// Handles all batches, the unsent one included, and ends the thread.
    ///
    /// # Errors
    /// The error of the handler.
    pub fn drain(&mut self) -> Result<&mut H, RepoError> {
        self.state = match std::mem::replace(&mut self.state, WorkerState::Moved) {
            WorkerState::Running { sender, thread } => {
                drop(sender);
                let done = thread.join();
                let (handler, done) = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                self.waiting.store(0, Ordering::Relaxed);
                self.state = WorkerState::Idle(handler);
                done?;
                return self.drain();
            }
            resting => resting,
        };
        let last = std::mem::take(&mut self.batch);
        let handler = self.handler();
        handler.handle(last)?;
        Ok(handler)
    }

    /// Handles the unsent batch on this thread, unless the thread of the worker runs.
    ///
    /// # Errors
    /// The error of the handler.
    pub fn drain_unless_running(&mut self) -> Result<(), RepoError> {
        match self.state {
            WorkerState::Running { .. } => Ok(()),
            _ => self.drain().map(drop),
        }
    }

    /// The handler of an idle worker.
    pub fn handler(&mut self) -> &mut H {
        match &mut self.state {
            WorkerState::Idle(handler) => handler,
            _ => unreachable!("a worker is drained before its handler is borrowed"),
        }
    }

    /// The handler of a worker that rests, for good.
    pub fn into_handler(mut self) -> H {
        match std::mem::replace(&mut self.state, WorkerState::Moved) {
            WorkerState::Idle(handler) => handler,
            _ => unreachable!("a worker is drained before its handler is taken"),
        }
    }
}

/// A dropped worker has ended its thread, so that nothing is written after.
impl<H: BatchHandler> Drop for Worker<H> {
    fn drop(&mut self) {
        if let WorkerState::Running { sender, thread } =
            std::mem::replace(&mut self.state, WorkerState::Moved)
        {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn run<H: BatchHandler>(
    mut handler: H,
    batches: &mpsc::Receiver<H::Batch>,
    waiting: &AtomicUsize,
) -> (H, Result<(), RepoError>) {
    for batch in batches {
        let len = batch.len();
        if let Err(error) = handler.handle(batch) {
            return (handler, Err(error));
        }
        waiting.fetch_sub(len, Ordering::Relaxed);
    }
    (handler, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;
    use varve_base::Interrupted;

    /// Notes each batch; nothing is an error.
    #[derive(Debug, Default)]
    struct Notes(Vec<usize>);

    /// A number for each piece, which stands for its bytes.
    #[derive(Debug, Default)]
    struct Pieces(Vec<usize>);

    impl Batch for Pieces {
        fn len(&self) -> usize {
            self.0.iter().sum()
        }
    }

    impl BatchHandler for Notes {
        type Batch = Pieces;

        fn handle(&mut self, batch: Pieces) -> Result<(), RepoError> {
            for piece in batch.0 {
                if piece == 0 {
                    return Err(Interrupted.into());
                }
                self.0.push(piece);
            }
            Ok(())
        }
    }

    fn fill(worker: &mut Worker<Notes>, pieces: Range<usize>) -> Result<(), RepoError> {
        for piece in pieces {
            worker.batch().0.push(piece);
            worker.send_full()?;
        }
        Ok(())
    }

    #[test]
    fn what_is_little_needs_no_thread() {
        let mut worker = Worker::new(Notes::default(), 4);
        fill(&mut worker, 1..10).unwrap();
        assert!(matches!(worker.state, WorkerState::Idle(_)));
        assert_eq!(worker.drain().unwrap().0.len(), 9);
    }

    #[test]
    fn everything_is_done_in_order_before_a_lane_rests() {
        let mut worker = Worker::new(Notes::default(), 4);
        for round in 0..3 {
            fill(&mut worker, 1 + round * 10_000..1 + (round + 1) * 10_000).unwrap();
            assert!(matches!(worker.state, WorkerState::Running { .. }));
            worker.drain().unwrap();
            assert_eq!(worker.queued_bytes(), 0);
        }
        assert!(worker.into_handler().0.into_iter().eq(1..=30_000));
    }

    #[test]
    fn an_error_shows_at_the_latest_when_the_lane_rests() {
        let mut worker = Worker::new(Notes::default(), 4);
        fill(&mut worker, 1..100).unwrap();
        worker.batch().0.push(0);
        let later = fill(&mut worker, 100..50_000);
        assert!(later.and(worker.drain().map(drop)).is_err());
        assert_eq!(worker.handler().0.len(), 99);
    }
}
